"""Conversion of Confluence's content to items."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from coderag.schema.items import Item, ItemAccess, ItemLink
from coderag.sources.atlassian.times import parse_time
from coderag.sources.confluence.access import find_container
from coderag.sources.confluence.storage_format import PagePlace, convert_storage
from coderag.sources.document_text import can_convert, convert_document

MAX_ATTACHMENT_BYTES: Final = 20 * 1024 * 1024
"""Largest attachment that is read, in bytes."""


def is_current(row: Mapping[str, Any]) -> bool:
    """Return whether content is neither in the trash nor archived."""
    return str(row.get("status") or "current") == "current"


def is_text_attachment(row: Mapping[str, Any]) -> bool:
    """Return whether an attachment is a text or a document that can be read as text."""
    size = _get(row, "extensions", "fileSize")
    is_small = not isinstance(size, int) or size <= MAX_ATTACHMENT_BYTES
    return row.get("type") == "attachment" and is_small and can_convert(str(row.get("title", "")))


def build_page(row: Mapping[str, Any], base_url: str, access: ItemAccess) -> Item:
    """Build the item of a page or blog post from an expanded row."""
    space = str(_get(row, "space", "key") or "")
    page_id = str(row["id"])
    body = convert_storage(str(_get(row, "body", "storage", "value") or ""), PagePlace(base_url, space, page_id))
    parents = [str(ancestor.get("id")) for ancestor in row.get("ancestors") or ()][-1:]
    links = [ItemLink("parent", parent) for parent in parents]
    links += [ItemLink("mentions", target) for target in (*body.tickets, *body.links)]
    return Item(
        id=page_id,
        kind="page",
        title=str(row.get("title", "")),
        text=body.text,
        type="blogpost" if row.get("type") == "blogpost" else "",
        labels=_find_labels(row),
        links=tuple(links),
        **_build_common(row, base_url, access),
    )


def build_attachment(row: Mapping[str, Any], data: bytes, base_url: str, access: ItemAccess) -> Item:
    """Build the item of an attachment.

    Raises:
        SourceError: Its text cannot be read.
    """
    title = str(row.get("title", ""))
    container = find_container(row)
    return Item(
        id=str(row["id"]),
        kind="attachment",
        title=title,
        text=convert_document(data, title),
        labels=_find_labels(row),
        links=(ItemLink("attachment of", container),) if container else (),
        **_build_common(row, base_url, access, {"page": str(_get(row, "container", "title") or "")}),
    )


def find_modified(row: Mapping[str, Any]) -> datetime | None:
    """Return the time of the last change."""
    return parse_time(_get(row, "version", "when"))


def find_revision(row: Mapping[str, Any]) -> str:
    """Return the number of the version."""
    return str(_get(row, "version", "number") or "")


def find_url(row: Mapping[str, Any], base_url: str) -> str:
    """Return the address of content for people; empty if the row does not say."""
    path = str(_get(row, "_links", "webui") or "")
    return f"{base_url}/{path.lstrip('/')}" if path else ""


def find_download_path(row: Mapping[str, Any], *, is_cloud: bool) -> str:
    """Return the path of an attachment's contents, relative to the address of the Confluence.

    Cloud has removed the path that its own links name. Source: https://developer.atlassian.com/changelog (CHANGE-3007)
    """
    if is_cloud:
        return f"rest/api/content/{find_container(row)}/child/attachment/{row['id']}/download"
    return str(_get(row, "_links", "download") or "")


def _build_common(
    row: Mapping[str, Any], base_url: str, access: ItemAccess, fields: Mapping[str, str] | None = None
) -> dict[str, Any]:
    names = {"author": _get(row, "history", "createdBy"), "editor": _get(row, "version", "by")}
    ancestors = [str(ancestor.get("title", "")) for ancestor in row.get("ancestors") or ()]
    texts = {"space": str(_get(row, "space", "name") or _get(row, "space", "key") or ""), **(fields or {})}
    return {
        "url": find_url(row, base_url),
        "revision": find_revision(row),
        "created": parse_time(_get(row, "history", "createdDate")),
        "modified": find_modified(row),
        "people": {role: (name,) for role, user in names.items() if (name := _find_name(user))},
        "fields": {name: text for name, text in {**texts, "path": " / ".join(filter(None, ancestors))}.items() if text},
        "access": access,
    }


def _find_labels(row: Mapping[str, Any]) -> tuple[str, ...]:
    results = _get(row, "metadata", "labels", "results")
    return tuple(str(label.get("name", "")) for label in results) if isinstance(results, list) else ()


def _find_name(user: object) -> str:
    if not isinstance(user, dict):
        return ""
    return str(user.get("displayName") or user.get("publicName") or user.get("username") or "")


def _get(row: Mapping[str, Any], *keys: str) -> Any:  # noqa: ANN401  # JSON
    value: Any = row
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
