"""Connector to Confluence: pages, blog posts and attachments of spaces, or of a query in CQL.

Both editions search through ``rest/api/content/search``, the only call with CQL, bodies and restrictions in one. Cloud pages by
a cursor, Data Center by offsets.

Source: https://developer.atlassian.com/cloud/confluence/rest/v1/api-group-content, https://developer.atlassian.com/server/confluence
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlsplit

from coderag.errors import SourceError, SourceUnavailableError
from coderag.schema.items import Item, ItemFailure
from coderag.sources.atlassian.changes import Batch, ChangeReader
from coderag.sources.atlassian.client import AtlassianClient, AtlassianStatusError
from coderag.sources.atlassian.listings import Cursor, Row, RowPage, walk_rows
from coderag.sources.atlassian.queries import quote_value, strip_order
from coderag.sources.confluence import content_items
from coderag.sources.confluence.access import RESTRICTIONS, AccessResolver, find_container
from coderag.sources.confluence.structure import Structure, StructureListing
from coderag.sources.protocol import Checkpoint, Page, SourceKind

_SEARCH: Final = "rest/api/content/search"
_STRUCTURE_EXPANSIONS: Final = f"space,ancestors,container,metadata.labels,extensions,{RESTRICTIONS}"
_PLAIN_EXPANSIONS: Final = "version"
_REFUSAL: Final = "refusal"  # key of a row that stands for a content that cannot be read: the reason
_EXPANSIONS: Final = f"body.storage,version,history,space,ancestors,container,metadata.labels,extensions,{RESTRICTIONS}"
# Data Center sends at most 50 rows with bodies, and 200 with other expansions. Source:
# https://support.atlassian.com/confluence/kb/searching-for-content-with-the-rest-api-and-cql-always-limits-results-to-50
_PAGE_ROWS: Final = 50
_ID_ROWS: Final = 200


class ConfluenceSource:
    """A Confluence, read as items.

    Args:
        client: Client of the Confluence; on Cloud its address ends with ``/wiki``.
        spaces: Keys of spaces.
        cql: Query that selects contents, instead of spaces or within them.
        is_cloud: Whether it is Confluence Cloud.
        has_attachments: Whether attachments that hold text are items, too.

    Raises:
        SourceError: Neither spaces nor a query are given.
    """

    kind: SourceKind = "documentation"

    def __init__(
        self,
        client: AtlassianClient,
        *,
        spaces: Sequence[str] = (),
        cql: str = "",
        is_cloud: bool,
        has_attachments: bool = True,
    ) -> None:
        self._client = client
        self._spaces = tuple(spaces)
        self._is_cloud = is_cloud
        clauses = [f"({query})"] if (query := strip_order(cql)) else []
        if spaces:
            clauses.append(f"space in ({','.join(map(quote_value, spaces))})")
        if not clauses:
            message = f"Confluence at {client.host}: neither spaces nor a query are set"
            raise SourceError(message, hint="Set `spaces` or `cql` of the source.")
        types = "page, blogpost, attachment" if has_attachments else "page, blogpost"
        self._scope = " and ".join([*clauses, f"type in ({types})"])
        self._has_query = bool(query)

    def check(self) -> str:
        """Check address, credential and scope; return the names of the spaces, or the query."""
        if not self._spaces:
            self._client.get(_SEARCH, {"cql": self._scope, "limit": 1})
            return self._scope
        names = []
        for space in self._spaces:
            row = self._find_space(space)
            if row is None:
                message = f"Confluence at {self._client.host} has no space {space}, or the account may not see it"
                raise SourceError(message, hint="Check the key of the space and what the account may read.")
            names.append(str(row.get("name") or space))
        if self._has_query:
            self._client.get(_SEARCH, {"cql": self._scope, "limit": 1})
        return ", ".join(names)

    def read_changes(self, checkpoint: Checkpoint | None) -> Iterator[Page]:
        """Yield pages of changes since a checkpoint; see `Source`.

        The first run lists the structure before it reads, and one after `CHECK_INTERVAL` compares it after it has read.
        """
        access = AccessResolver(self._client, _SEARCH)
        before = Structure.parse((checkpoint or {}).get("structure"))
        structure = before or self._list_structure(access)[0]
        reader = ChangeReader(
            self._query_changes,
            lambda rows: self._convert(rows, access),
            self._find_zone,
            self._client.describe(_SEARCH),
        )
        position: Checkpoint = {}
        read: set[str] = set()
        for page in reader.read(checkpoint):
            position = page.checkpoint
            read.update(item.id for item in page.items)
            yield replace(page, checkpoint={**position, "structure": structure.to_json()})
        if before is not None and before.is_due:
            yield from self._read_moved(before, position, read)

    def _list_structure(self, access: AccessResolver) -> tuple[Structure, StructureListing]:
        listing = StructureListing(access)
        for page in self._walk_ids(_STRUCTURE_EXPANSIONS):
            listing.add([row.data for row in page.rows if _is_item(row.data)])
        return listing.build(), listing

    def _read_moved(self, before: Structure, position: Checkpoint, read: set[str]) -> Iterator[Page]:
        """Yield the contents whose readers, place or labels may have changed, and the position behind them."""
        after, listing = self._list_structure(AccessResolver(self._client, _SEARCH))
        ids = [content_id for content_id in listing.find_suspects(before, after) if content_id not in read]
        for begin in range(0, len(ids), _PAGE_ROWS):
            page = self.read_items(ids[begin : begin + _PAGE_ROWS])
            yield replace(page, checkpoint={**position, "structure": before.to_json(), "compared": begin})
        yield Page((), {**position, "structure": after.to_json()})

    def read_items(self, ids: Sequence[str]) -> Page:
        """Read some items again; see `Source`."""
        rows: list[Row] = []
        for begin in range(0, len(ids), _PAGE_ROWS):
            rows += self._find_rows(ids[begin : begin + _PAGE_ROWS])
        batch = self._convert(rows, AccessResolver(self._client, _SEARCH))
        present = {row.id for row in rows}
        return Page(batch.items, {}, [*batch.deleted, *(id_ for id_ in ids if id_ not in present)], batch.failures)

    def list_ids(self) -> Iterator[str]:
        """Yield the ids of all items; see `Source`. Order by creation, since items do not move in it."""
        for page in self._walk_ids("extensions"):
            yield from (row.id for row in page.rows if _is_item(row.data))

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _walk_ids(self, expansions: str) -> Iterator[RowPage]:
        cql = f"{self._scope} order by created asc"

        def search(_start: datetime | None, cursor: Cursor | None) -> RowPage:
            return self._search(cql, _ID_ROWS, expansions, cursor)

        return walk_rows(search, None, self._client.describe(_SEARCH))

    def _find_space(self, key: str) -> dict[str, Any] | None:
        if self._is_cloud:  # the first version of this call is gone there
            spaces = self._client.get("api/v2/spaces", {"keys": key}).get("results") or []
            return next((space for space in spaces if space.get("key") == key), None)
        try:
            return self._client.get(f"rest/api/space/{quote(key, safe='~')}")
        except AtlassianStatusError as error:
            if error.status == 404:
                return None
            raise

    def _find_zone(self) -> str:
        """Return the zone of the account; it is only a guess, since Cloud reads times in the zone of the site."""
        try:
            return str(self._client.get("rest/api/user/current").get("timeZone") or "")
        except AtlassianStatusError:
            return ""

    def _query_changes(self, start: str | None, cursor: Cursor | None) -> RowPage:
        """Request a page of changes.

        On Cloud, a content whose expansions cannot be read fails the whole page with status 404, so that its contents are
        then asked for by themselves. Source: https://jira.atlassian.com/browse/CONFCLOUD-77618
        """
        window = f" and lastmodified >= {quote_value(start)}" if start else ""
        cql = f"{self._scope}{window} order by lastmodified asc"
        try:
            return self._search(cql, _PAGE_ROWS, _EXPANSIONS, cursor)
        except AtlassianStatusError as error:
            if error.status != 404:
                raise
        page = self._search(cql, _PAGE_ROWS, _PLAIN_EXPANSIONS, cursor)
        full = {row.id: row for row in self._find_rows([row.id for row in page.rows])}
        return replace(page, rows=[full.get(row.id, row) for row in page.rows])

    def _find_rows(self, ids: Sequence[str]) -> list[Row]:
        """Find contents by id; halves of a request that is refused are asked for again, down to the one that fails."""
        if not ids:
            return []
        cql = f"{self._scope} and id in ({','.join(map(quote_value, ids))})"
        try:
            return list(self._search(cql, _PAGE_ROWS, _EXPANSIONS, None).rows)
        except AtlassianStatusError as error:
            if error.status not in {400, 404}:
                raise
            if len(ids) == 1:
                return [Row(ids[0], data={"id": ids[0], _REFUSAL: str(error)})]
        middle = len(ids) // 2
        return self._find_rows(ids[:middle]) + self._find_rows(ids[middle:])

    def _search(self, cql: str, limit: int, expansions: str, cursor: Cursor | None) -> RowPage:
        params: dict[str, Any] = {"cql": cql, "limit": limit, "expand": expansions}
        if isinstance(cursor, str):  # the query of a link to the next page
            params = dict(parse_qsl(cursor)) | params
        elif cursor is not None:
            params["start"] = cursor
        content = self._client.get(_SEARCH, params)
        results = content.get("results")
        if not isinstance(results, list):
            message = f"{self._client.describe(_SEARCH)}: the reply has no results"
            raise SourceError(message)
        rows = [_build_row(result) for result in results if isinstance(result, dict) and result.get("id")]
        return RowPage(
            rows, self._find_next(content, cursor, len(results))
        )  # its total counts contents that are no items

    def _find_next(self, content: dict[str, Any], cursor: Cursor | None, rows: int) -> Cursor | None:
        links = content.get("_links")
        link = links.get("next") if isinstance(links, dict) else None
        if not link:
            return None
        if not self._is_cloud:
            return (cursor if isinstance(cursor, int) else 0) + rows
        query = urlsplit(str(link)).query
        if not query:
            message = f"{self._client.describe(_SEARCH)}: the link to the next page has no cursor"
            raise SourceError(message)
        return query

    def _convert(self, rows: Sequence[Row], access: AccessResolver) -> Batch:
        items: list[Item] = []
        failures: list[ItemFailure] = []
        deleted: list[str] = []
        current = [row.data for row in rows if _is_item(row.data) and _REFUSAL not in row.data]
        access.note(current)
        for row in rows:
            url = content_items.find_url(row.data, self._client.base_url)
            if _REFUSAL in row.data:
                failures.append(ItemFailure(row.id, row.data[_REFUSAL], url))
                continue
            if not content_items.is_current(row.data):
                deleted.append(row.id)
                continue
            if not _is_item(row.data):
                continue
            try:
                item = self._convert_row(row.data, access)
            except SourceUnavailableError as error:
                self._client.get(_SEARCH, {"cql": self._scope, "limit": 1})  # fails if the system is down
                failures.append(ItemFailure(row.id, str(error), url))
                continue
            except (SourceError, KeyError, TypeError, ValueError, AttributeError) as error:
                is_ours = isinstance(error, SourceError)
                reason = str(error) if is_ours else f"it is not as documented ({type(error).__name__})"
                failures.append(ItemFailure(row.id, reason, url))
                continue
            if item is None:
                deleted.append(row.id)
            else:
                items.append(item)
        return Batch(items, deleted, failures)

    def _convert_row(self, row: dict[str, Any], access: AccessResolver) -> Item | None:
        """Convert a row; None if its attachment is gone."""
        if row.get("type") != "attachment":
            return content_items.build_page(row, self._client.base_url, access.resolve(str(row["id"])))
        path = content_items.find_download_path(row, is_cloud=self._is_cloud)
        data = self._client.download(path, content_items.MAX_ATTACHMENT_BYTES)
        if data is None:
            return None
        readers = access.resolve(find_container(row))
        return content_items.build_attachment(row, data, self._client.base_url, readers)


def _build_row(result: dict[str, Any]) -> Row:
    modified = content_items.find_modified(result)
    revision = f"{content_items.find_revision(result)} {modified.isoformat() if modified else ''}"
    return Row(str(result["id"]), modified, revision, result)


def _is_item(row: dict[str, Any]) -> bool:
    is_read = row.get("type") != "attachment" or content_items.is_text_attachment(row)
    return is_read and content_items.is_current(row)
