"""Connector to Jira: the issues of a project, or of a query in JQL.

Cloud searches with ``/rest/api/3/search/jql`` and tokens, Data Center with ``/rest/api/2/search`` and offsets.

Source: https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issue-search
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from coderag.errors import SourceError
from coderag.schema.items import Item, ItemFailure
from coderag.sources.atlassian.changes import Batch, ChangeReader
from coderag.sources.atlassian.client import AtlassianClient, AtlassianForbiddenError, AtlassianStatusError
from coderag.sources.atlassian.listings import Cursor, Row, RowPage, walk_rows
from coderag.sources.atlassian.queries import quote_value, strip_order
from coderag.sources.atlassian.times import parse_time
from coderag.sources.jira.issue_fields import CustomField, parse_custom_fields
from coderag.sources.jira.issue_items import build_issue, find_former_keys, find_revision
from coderag.sources.protocol import Checkpoint, Page, SourceKind

_PAGE_ROWS: Final = 50
_ID_ROWS: Final = 1_000
_PART_ROWS: Final = 100  # comments or changes on a page
_MAX_PARTS: Final = 100_000
_FIELDS: Final = ("*all", "-worklog", "-attachment")


class JiraSource:
    """A Jira, read as items.

    Args:
        client: Client of the Jira.
        projects: Keys of projects.
        jql: Query that selects issues, instead of projects or within them.
        is_cloud: Whether it is Jira Cloud.

    Raises:
        SourceError: Neither projects nor a query are given.
    """

    kind: SourceKind = "backlog"

    def __init__(self, client: AtlassianClient, *, projects: Sequence[str] = (), jql: str = "", is_cloud: bool) -> None:
        self._client = client
        self._projects = tuple(projects)
        self._is_cloud = is_cloud
        self._api = "rest/api/3" if is_cloud else "rest/api/2"
        self._search_path = f"{self._api}/search/jql" if is_cloud else f"{self._api}/search"
        self._custom_fields: dict[str, CustomField] | None = None
        clauses = [f"project in ({', '.join(map(quote_value, projects))})"] if projects else []
        if query := strip_order(jql):
            clauses.append(f"({query})")
        if not clauses:
            message = f"Jira at {client.host}: neither projects nor a query are set"
            raise SourceError(message, hint="Set `projects` or `jql` of the source.")
        self._scope = " and ".join(clauses)
        self._has_query = bool(query)

    def check(self) -> str:
        """Check address, credential and scope; return the names of the projects, or the query."""
        if self._has_query:
            self._search(self._scope, 1, ("key",), None)
        return ", ".join(map(self._find_project, self._projects)) or self._scope

    def read_changes(self, checkpoint: Checkpoint | None) -> Iterator[Page]:
        """Yield pages of changes since a checkpoint; see `Source`."""
        reader = ChangeReader(
            self._query_changes, self._convert, self._find_zone, self._client.describe(self._search_path)
        )
        return reader.read(checkpoint)

    def read_items(self, ids: Sequence[str]) -> Page:
        """Read some issues again; see `Source`. Each by itself, since a query with a key that is gone fails as a whole."""
        rows: list[Row] = []
        deleted: list[str] = []
        failures: list[ItemFailure] = []
        for key in ids:
            path = f"{self._api}/issue/{quote(key, safe='')}"
            try:
                issue = self._client.get(path, {"fields": ",".join(_FIELDS), "expand": "changelog"})
            except (AtlassianStatusError, AtlassianForbiddenError) as error:
                if isinstance(error, AtlassianStatusError) and error.status in {404, 410}:
                    deleted.append(key)
                else:
                    failures.append(ItemFailure(key, str(error), f"{self._client.base_url}/browse/{key}"))
                continue
            row = _build_row(issue)
            rows.append(row)
            if row.id != key:  # moved
                deleted.append(key)
        batch = self._convert(rows)
        return Page(batch.items, {}, [*batch.deleted, *deleted], [*batch.failures, *failures])

    def list_ids(self) -> Iterator[str]:
        """Yield the keys of all issues; see `Source`. Order by creation, since issues do not move in it."""
        jql = f"{self._scope} order by created asc, key asc"

        def search(_start: datetime | None, cursor: Cursor | None) -> RowPage:
            return self._search(jql, _ID_ROWS, ("key",), cursor)

        for page in walk_rows(search, None, self._client.describe(self._search_path)):
            yield from (row.id for row in page.rows)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _find_project(self, key: str) -> str:
        try:
            project = self._client.get(f"{self._api}/project/{quote(key, safe='')}")
        except AtlassianStatusError as error:
            if error.status != 404:
                raise
        else:
            return str(project.get("name") or key)
        message = f"Jira at {self._client.host} has no project {key}, or the account may not see it"
        raise SourceError(message, hint="Check the key of the project and what the account may read.")

    def _find_zone(self) -> str:
        return str(self._client.get(f"{self._api}/myself").get("timeZone") or "")

    def _query_changes(self, start: str | None, cursor: Cursor | None) -> RowPage:
        window = f" and updated >= {quote_value(start)}" if start else ""
        return self._search(f"{self._scope}{window} order by updated asc, key asc", _PAGE_ROWS, _FIELDS, cursor)

    def _search(self, jql: str, limit: int, fields: Sequence[str], cursor: Cursor | None) -> RowPage:
        body: dict[str, Any] = {"jql": jql, "maxResults": limit, "fields": list(fields)}
        if fields == _FIELDS:
            body["expand"] = "changelog" if self._is_cloud else ["changelog"]
        if cursor is not None:
            body["nextPageToken" if self._is_cloud else "startAt"] = cursor
        content = self._client.post(self._search_path, body)
        issues = content.get("issues")
        if not isinstance(issues, list):
            message = f"{self._client.describe(self._search_path)}: the reply has no issues"
            raise SourceError(message)
        rows = [_build_row(issue) for issue in issues if isinstance(issue, Mapping) and issue.get("key")]
        total = content.get("total")
        find_next = _find_next_token if self._is_cloud else _find_next_offset
        return RowPage(rows, find_next(content, cursor, len(issues)), total if isinstance(total, int) else None)

    def _convert(self, rows: Sequence[Row]) -> Batch:
        items: list[Item] = []
        failures: list[ItemFailure] = []
        deleted: set[str] = set()
        if self._custom_fields is None and rows:
            self._custom_fields = parse_custom_fields(self._client.get_list(f"{self._api}/field"))
        for row in rows:
            try:
                histories = self._read_changelog(row)
                item = build_issue(
                    row.data, self._custom_fields or {}, self._read_comments(row), histories, self._client.base_url
                )
            except (AtlassianStatusError, AtlassianForbiddenError) as error:
                failures.append(ItemFailure(row.id, str(error), f"{self._client.base_url}/browse/{row.id}"))
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                reason = f"its fields are not as documented ({type(error).__name__})"
                failures.append(ItemFailure(row.id, reason, f"{self._client.base_url}/browse/{row.id}"))
            else:
                items.append(item)
                deleted.update(find_former_keys(row.id, histories))
        return Batch(items, sorted(deleted - {item.id for item in items}), failures)

    def _read_comments(self, row: Row) -> list[Mapping[str, Any]]:
        """Return all comments; a search has only the first of them."""
        part = (row.data.get("fields") or {}).get("comment") or {}
        comments = list(part.get("comments") or ())
        if len(comments) >= int(part.get("total") or 0):
            return comments
        return self._read_parts(f"{self._api}/issue/{row.id}/comment", "comments", {"orderBy": "created"})

    def _read_changelog(self, row: Row) -> list[Mapping[str, Any]]:
        """Return the whole changelog; a search on Cloud has the newest 40 entries."""
        changelog = row.data.get("changelog") or {}
        histories = list(changelog.get("histories") or ())
        if len(histories) >= int(changelog.get("total") or 0):
            return histories
        if self._is_cloud:
            return self._read_parts(f"{self._api}/issue/{row.id}/changelog", "values", {})
        issue = self._client.get(f"{self._api}/issue/{row.id}", {"fields": "key", "expand": "changelog"})
        return list((issue.get("changelog") or {}).get("histories") or ())

    def _read_parts(self, path: str, name: str, params: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """Read all pages of the comments or changes of an issue."""
        parts: dict[str, Mapping[str, Any]] = {}
        start = 0
        while start < _MAX_PARTS:
            page = self._client.get(path, {**params, "startAt": start, "maxResults": _PART_ROWS})
            entries = [entry for entry in page.get(name) or () if isinstance(entry, Mapping)]
            before = len(parts)
            parts.update({str(entry.get("id")): entry for entry in entries})
            start += len(entries)
            is_full = len(entries) >= int(page.get("maxResults") or _PART_ROWS)
            if page.get("isLast") or not entries or (not is_full and start >= int(page.get("total") or 0)):
                return list(parts.values())
            if len(parts) == before:
                break
        message = f"{self._client.describe(path)}: its pages repeat"
        raise AtlassianStatusError(message, 200)


def _build_row(issue: Mapping[str, Any]) -> Row:
    revision = find_revision(issue)
    return Row(str(issue["key"]), parse_time(revision) if revision else None, revision, dict(issue))


def _find_next_token(content: Mapping[str, Any], _cursor: Cursor | None, _rows: int) -> Cursor | None:
    token = content.get("nextPageToken")
    return str(token) if token and content.get("isLast") is not True else None


def _find_next_offset(content: Mapping[str, Any], cursor: Cursor | None, rows: int) -> Cursor | None:
    """Return the offset of the next page; None behind a page that is short by the server's limit and by its total."""
    offset = (cursor if isinstance(cursor, int) else 0) + rows
    is_full = rows >= int(content.get("maxResults") or _PAGE_ROWS)
    return offset if rows and (is_full or offset < int(content.get("total") or 0)) else None
