"""SharePoint connector: changes of a site's document libraries by their change feeds, and of its pages.

Sources: https://learn.microsoft.com/graph/api/driveitem-delta, https://learn.microsoft.com/graph/throttling
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol
from urllib.parse import quote, urlsplit

from coderag.errors import ConfigurationError, SourceAuthenticationError, SourceError, SourceUnavailableError
from coderag.schema.items import Item, ItemFailure
from coderag.sources.concurrent_reads import read_each
from coderag.sources.document_text import MAX_DOCUMENT_BYTES
from coderag.sources.http_client import JSONClient, RequestPolicy
from coderag.sources.json_values import get_objects, get_text
from coderag.sources.protocol import Checkpoint, Page, SourceKind
from coderag.sources.sharepoint.checkpoint import DriveState, SiteState
from coderag.sources.sharepoint.drive_files import DriveFiles, build_file_id, build_file_path, is_file
from coderag.sources.sharepoint.site_pages import PAGE_ID_PREFIX, SitePages

GRAPH_URL: Final = "https://graph.microsoft.com/v1.0"
_DRIVES_MAX_AGE = timedelta(hours=1)  # libraries are listed at most this often; a new one comes late by it
_FEED_PAGE_ITEMS = 100
_LISTED_IDS = 1_000
_SITE_PAGES_PER_PAGE = 20
_MAX_EMPTY_PAGES = 1_000  # in a row, of one library
# Without it, the feed leaves out files of which only the readers changed.
_FEED_HEADERS = {"Prefer": "deltashowsharingchanges"}


class TokenProvider(Protocol):
    """Provides tokens; `GraphTokens` is one."""

    def build_headers(self) -> Mapping[str, str]:
        """Build the header with a token that is valid now."""

    def close(self) -> None:
        """Close the connections."""


class SharePointSource:
    """A SharePoint site.

    Args:
        site_url: Address of the site, such as ``https://contoso.sharepoint.com/sites/team``.
        tokens: Provides the header with a token, and is closed with the source.
        libraries: Names of document libraries; all of the site without any.
        includes_pages: Whether site pages are read.
        reads_permissions: Whether each file's readers are asked for, at the cost of a request a file.
        max_bytes: Largest file that is read.
        graph_url: Address of Microsoft Graph; a national cloud has its own.
        policy: Limits of requests.

    Raises:
        ConfigurationError: The address of the site is invalid.
    """

    def __init__(  # noqa: PLR0913  # the settings of a source
        self,
        site_url: str,
        tokens: TokenProvider,
        *,
        libraries: Sequence[str] = (),
        includes_pages: bool = True,
        reads_permissions: bool = True,
        max_bytes: int = MAX_DOCUMENT_BYTES,
        graph_url: str = GRAPH_URL,
        policy: RequestPolicy | None = None,
    ) -> None:
        parts = urlsplit(site_url)
        if not parts.hostname:
            message = f"'{site_url}' is not the address of a SharePoint site"
            raise ConfigurationError(message, hint="Write it as https://contoso.sharepoint.com/sites/team.")
        path = parts.path.strip("/")
        self._site_path = f"sites/{parts.hostname}" + (f":/{quote(path)}" if path else "")
        self._tokens = tokens
        self._libraries = tuple(libraries)
        self._includes_pages = includes_pages
        self._client = JSONClient(graph_url, name="SharePoint", authenticate=tokens.build_headers, policy=policy)
        self._files = DriveFiles(self._client, max_bytes=max_bytes, reads_permissions=reads_permissions)
        self._pages = SitePages(self._client)

    @property
    def kind(self) -> SourceKind:
        """Kind of its items."""
        return "documentation"

    @property
    def client(self) -> JSONClient:
        """Client with the counts of requests."""
        return self._client

    def check(self) -> str:
        """Check address, credential and libraries; return the site's name."""
        site = self._client.get(self._site_path).content
        if self._libraries:
            self._list_drives(get_text(site, "id"))
        return get_text(site, "displayName") or get_text(site, "name") or self._site_path

    def read_changes(self, checkpoint: Checkpoint | None) -> Iterator[Page]:
        """Yield changes of each library by its change feed, then of the site's pages.

        A feed reports deletions, too, but not those of the time before it expired: `list_ids` finds them.
        """
        state = SiteState.from_checkpoint(checkpoint)
        last: Checkpoint | None = None
        for page in self._read_all(state):
            last = page.checkpoint
            yield page
        if state.to_checkpoint() != last:
            yield Page((), state.to_checkpoint())

    def _read_all(self, state: SiteState) -> Iterator[Page]:
        if state.listed is None or datetime.now(UTC) - state.listed >= _DRIVES_MAX_AGE:
            self._update_drives(state)
        for drive in list(state.drives):
            yield from self._read_drive(state, drive)
        if self._includes_pages:
            yield from self._read_site_pages(state)
        elif state.page_versions:
            gone = [f"{PAGE_ID_PREFIX}{page_id}" for page_id in state.page_versions]
            state.page_versions = {}
            yield Page((), state.to_checkpoint(), deleted=gone)

    def read_items(self, ids: Sequence[str]) -> Page:
        """Read files and pages by their ids."""
        site_id = ""
        if any(item_id.startswith(PAGE_ID_PREFIX) for item_id in ids):
            site_id = get_text(self._client.get(self._site_path).content, "id")

        def read(item_id: str) -> Item | ItemFailure | None:
            if item_id.startswith(PAGE_ID_PREFIX):
                return self._read_site_page(site_id, item_id.removeprefix(PAGE_ID_PREFIX))
            return self._read_file(item_id)

        return _build_page(dict(zip(ids, read_each(read, ids), strict=True)), {})

    def list_ids(self) -> Iterator[str]:
        """Yield the ids of all files with text, and of all pages."""
        site_id = get_text(self._client.get(self._site_path).content, "id")
        for drive_id in self._list_drives(site_id):
            path = f"drives/{quote(drive_id, safe='!')}/root/delta?$select=id,name,file,deleted&$top={_LISTED_IDS}"
            entries = {get_text(entry, "id"): entry for entry in self._iterate_values(path)}
            for entry_id, entry in entries.items():
                if "deleted" not in entry and is_file(entry):
                    yield build_file_id(drive_id, entry_id)
        if self._includes_pages:
            for page_id in self._pages.list_versions(site_id):
                yield f"{PAGE_ID_PREFIX}{page_id}"

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
        self._tokens.close()

    def _update_drives(self, state: SiteState) -> None:
        state.site_id = state.site_id or get_text(self._client.get(self._site_path).content, "id")
        known = {drive.id: drive for drive in state.drives}
        names = self._list_drives(state.site_id)
        state.drives = [known.get(drive_id) or DriveState(drive_id, name) for drive_id, name in names.items()]
        state.listed = datetime.now(UTC)

    def _list_drives(self, site_id: str) -> dict[str, str]:
        """List names of the chosen libraries by drive id."""
        names: dict[str, str] = {}
        for drive in self._iterate_values(f"sites/{quote(site_id, safe=',')}/drives?$select=id,name"):
            if not self._libraries or get_text(drive, "name") in self._libraries:
                names[get_text(drive, "id")] = get_text(drive, "name")
        if missing := sorted(set(self._libraries) - set(names.values())):
            message = f"SharePoint at {self._client.host}: the site has no document library '{missing[0]}'"
            raise SourceError(message, hint="Check the names of the libraries and what the application may read.")
        return names

    def _iterate_values(self, path: str) -> Iterator[dict[str, Any]]:
        visited: set[str] = set()
        while path:
            if path in visited:
                message = f"SharePoint at {self._client.host} repeats a list without end"
                raise SourceError(message)
            visited.add(path)
            content = self._client.get(path).content
            yield from get_objects(content, "value")
            path = get_text(content, "@odata.nextLink")

    def _read_drive(self, state: SiteState, drive: DriveState) -> Iterator[Page]:
        """Yield the pages of a library's feed that have changes, and store its last link in the state."""
        start = f"drives/{quote(drive.id, safe='!')}/root/delta?$top={_FEED_PAGE_ITEMS}"
        link = drive.link or start
        has_restarted, is_resumed = False, drive.is_within
        visited: set[str] = set()
        empty_pages = 0
        while True:
            visited.add(link)
            reply = self._client.get(link, headers=_FEED_HEADERS, statuses=(404, 410))
            if reply.status == 404 and drive.link:  # the library is gone
                state.drives.remove(drive)
                return
            if reply.status != 200:  # 410: the link has expired
                if has_restarted or link == start:
                    message = f"SharePoint at {self._client.host} cannot list '{drive.name}' (status {reply.status})"
                    raise SourceError(message)
                has_restarted, link = True, start
                drive.link, drive.is_listing = "", True
                continue
            next_link, delta_link = (get_text(reply.content, f"@odata.{name}Link") for name in ("next", "delta"))
            if next_link in visited or not (next_link or delta_link) or empty_pages > _MAX_EMPTY_PAGES:
                fault = "repeats without end" if next_link or delta_link else "has no next link"
                message = f"SharePoint at {self._client.host}: the change feed of '{drive.name}' {fault}"
                raise SourceError(message)
            page = self._convert_feed_page(drive, get_objects(reply.content, "value"))
            drive.link = next_link or delta_link
            drive.is_listing, drive.is_within = drive.is_listing and not delta_link, bool(next_link)
            is_empty = not (page.items or page.deleted or page.failures)
            empty_pages = empty_pages + 1 if is_empty else 0
            if not is_empty or drive.is_listing:
                yield Page(page.items, state.to_checkpoint(), page.deleted, page.failures)
            if not (next_link or is_resumed):
                return
            # The round of a run that was killed does not have what changed since that run: one more follows.
            is_resumed, link = is_resumed and bool(next_link), next_link or delta_link

    def _convert_feed_page(self, drive: DriveState, entries: Sequence[dict[str, Any]]) -> Page:
        changed = {get_text(entry, "id"): entry for entry in entries}  # the last one of each counts
        files = [entry for entry in changed.values() if "deleted" not in entry and is_file(entry)]
        ids = [build_file_id(drive.id, get_text(entry, "id")) for entry in files]
        results = read_each(lambda entry: self._files.read_file(drive.id, entry), files)
        page = _build_page(dict(zip(ids, results, strict=True)), {})
        # A file without text may have had another name.
        gone = [
            build_file_id(drive.id, entry_id)
            for entry_id, entry in changed.items()
            if "deleted" in entry or ("file" in entry and not is_file(entry) and not drive.is_listing)
        ]
        return replace(page, deleted=[*page.deleted, *gone])

    def _read_file(self, item_id: str) -> Item | ItemFailure | None:
        drive_id, _, entry_id = item_id.partition(":")
        reply = self._client.get(build_file_path(drive_id, entry_id), statuses=(404, 410))
        if reply.status != 200 or not is_file(reply.content):
            return None
        return self._files.read_file(drive_id, reply.content)

    def _read_site_pages(self, state: SiteState) -> Iterator[Page]:
        versions = self._pages.list_versions(state.site_id)
        if gone := [page_id for page_id in state.page_versions if page_id not in versions]:
            for page_id in gone:
                del state.page_versions[page_id]
            yield Page((), state.to_checkpoint(), deleted=[f"{PAGE_ID_PREFIX}{page_id}" for page_id in gone])
        changed = [page_id for page_id, version in versions.items() if state.page_versions.get(page_id) != version]
        for start in range(0, len(changed), _SITE_PAGES_PER_PAGE):
            ids = changed[start : start + _SITE_PAGES_PER_PAGE]
            results = read_each(lambda page_id: self._read_site_page(state.site_id, page_id), ids)
            state.page_versions |= {
                page_id: versions[page_id] for page_id, result in zip(ids, results, strict=True) if result is not None
            }
            keys = [f"{PAGE_ID_PREFIX}{page_id}" for page_id in ids]
            yield _build_page(dict(zip(keys, results, strict=True)), state.to_checkpoint())

    def _read_site_page(self, site_id: str, page_id: str) -> Item | ItemFailure | None:
        try:
            return self._pages.read_page(site_id, page_id)
        except (SourceUnavailableError, SourceAuthenticationError):
            raise
        except SourceError as error:
            return ItemFailure(f"{PAGE_ID_PREFIX}{page_id}", str(error))


def _build_page(results: Mapping[str, Item | ItemFailure | None], checkpoint: Checkpoint) -> Page:
    """Build a page from what was read by id; None is an item that is gone."""
    return Page(
        [result for result in results.values() if isinstance(result, Item)],
        checkpoint,
        [item_id for item_id, result in results.items() if result is None],
        [result for result in results.values() if isinstance(result, ItemFailure)],
    )
