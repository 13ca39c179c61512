"""Site pages as items, by the pages API of Microsoft Graph.

The API has no change feed: the metadata of all pages is listed, and the contents of those with another version are read.
Nor does it state readers, so that site pages are private.

Source: https://learn.microsoft.com/graph/api/resources/sitepage
"""

from collections.abc import Iterator
from html import escape
from typing import Any
from urllib.parse import quote

from coderag.errors import SourceError
from coderag.schema.items import Item
from coderag.sources.document_text import convert_html
from coderag.sources.http_client import JSONClient
from coderag.sources.json_values import get_objects, get_text, get_value, parse_time

PAGE_ID_PREFIX = "page:"
_MAX_LISTS = 10_000


class SitePages:
    """Lists and reads the pages of a site."""

    def __init__(self, client: JSONClient) -> None:
        self._client = client

    def list_versions(self, site_id: str) -> dict[str, str]:
        """List the versions of all pages by id."""
        path = f"{_build_path(site_id)}/microsoft.graph.sitePage?$select=id,eTag,lastModifiedDateTime&$top=200"
        versions: dict[str, str] = {}
        visited: set[str] = set()
        while path:
            if path in visited or len(visited) > _MAX_LISTS:
                message = f"{self._client.name} at {self._client.host} repeats the list of site pages without end"
                raise SourceError(message)
            visited.add(path)
            content = self._client.get(path).content
            for page in get_objects(content, "value"):
                if page_id := get_text(page, "id"):
                    versions[page_id] = get_text(page, "eTag") or get_text(page, "lastModifiedDateTime")
            path = get_text(content, "@odata.nextLink")
        return versions

    def read_page(self, site_id: str, page_id: str) -> Item | None:
        """Read a page with its contents; None if it is gone.

        Raises:
            SourceError: It cannot be read.
        """
        path = f"{_build_path(site_id)}/{quote(page_id, safe='')}/microsoft.graph.sitePage"
        reply = self._client.get(path, {"$expand": "canvasLayout"}, statuses=(404, 410))
        return _build_item(page_id, reply.content) if reply.status == 200 else None


def _build_path(site_id: str) -> str:
    return f"sites/{quote(site_id, safe=',')}/pages"


def _build_item(page_id: str, page: dict[str, Any]) -> Item:
    parts = [f"<p>{escape(description)}</p>"] if (description := get_text(page, "description")) else []
    parts += [html for web_part in _iterate_web_parts(page) for html in _iterate_html(web_part)]
    title = get_text(page, "title") or get_text(page, "name")
    people = {
        "author": get_text(page, "createdBy", "user", "displayName"),
        "editor": get_text(page, "lastModifiedBy", "user", "displayName"),
    }
    return Item(
        id=f"{PAGE_ID_PREFIX}{page_id}",
        kind="page",
        title=title,
        text=convert_html("\n".join(parts), f"the page '{title}'"),
        url=get_text(page, "webUrl"),
        revision=get_text(page, "eTag"),
        created=parse_time(get_text(page, "createdDateTime")),
        modified=parse_time(get_text(page, "lastModifiedDateTime")),
        status=get_text(page, "publishingState", "level"),
        people={role: (name,) for role, name in people.items() if name},
    )


def _iterate_web_parts(page: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for section in get_objects(page, "canvasLayout", "horizontalSections"):
        for column in get_objects(section, "columns"):
            yield from get_objects(column, "webparts")
    yield from get_objects(page, "canvasLayout", "verticalSection", "webparts")


def _iterate_html(web_part: dict[str, Any]) -> Iterator[str]:
    """Yield the HTML of a text, and the searchable texts of any other web part."""
    if html := get_text(web_part, "innerHtml"):
        yield html
    texts = get_value(web_part, "data", "serverProcessedContent") or {}
    for pair in get_objects(texts, "htmlStrings"):
        yield get_text(pair, "value")
    for pair in get_objects(texts, "searchablePlainTexts"):
        yield f"<p>{escape(get_text(pair, 'value'))}</p>"
