"""Azure DevOps connector: changes of projects' work items by queries for ids and batches of 200.

Sources: https://learn.microsoft.com/rest/api/azure/devops/wit/wiql/query-by-wiql,
https://learn.microsoft.com/rest/api/azure/devops/wit/work-items/get-work-items-batch,
https://learn.microsoft.com/azure/devops/integrate/concepts/rate-limits
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

from coderag.errors import SourceAuthenticationError, SourceError, SourceUnavailableError
from coderag.schema.items import Item, ItemFailure
from coderag.sources.azure_devops.queries import WorkItemQuery, WorkItemSearch
from coderag.sources.azure_devops.work_items import build_item
from coderag.sources.concurrent_reads import read_each
from coderag.sources.http_client import JSONClient, RequestPolicy
from coderag.sources.json_values import get_objects, get_text, parse_time
from coderag.sources.protocol import OVERLAP, Checkpoint, Page, SourceKind

DEFAULT_API_VERSION: Final = "7.1"
MAX_BATCH_ITEMS: Final = 200
_MAX_COMMENTS_PER_REQUEST = 200
_MAX_UPDATES_PER_REQUEST = 200
_MAX_LISTS = 1_000  # of comments or updates of one work item
_MAX_RECENT_ITEMS = 5_000


@dataclass(slots=True)
class _Position:
    """Position of a synchronisation.

    Attributes:
        since: Time of the earliest change; None to read all work items.
        next_since: That of the next run, by the server's clock; None before the first query.
        after_id: Id up to which all are read.
        known: Revisions by id that the last run read within the time that both windows share.
        recent: Those of this run for the next one.
    """

    since: datetime | None = None
    next_since: datetime | None = None
    after_id: int = 0
    known: dict[str, str] = field(default_factory=dict)
    recent: dict[str, str] = field(default_factory=dict)

    def add_recent(self, items: Sequence[Item]) -> None:
        start = self.next_since - OVERLAP if self.next_since else None
        for item in items:
            is_recent = start is None or item.modified is None or item.modified >= start
            if is_recent and len(self.recent) < _MAX_RECENT_ITEMS:
                self.recent[item.id] = item.revision

    def finish(self) -> "_Position":
        """Return the position where the next run begins."""
        return _Position(since=self.next_since, known=self.recent)

    def to_checkpoint(self) -> dict[str, Any]:
        return {
            "since": self.since.isoformat() if self.since else "",
            "next_since": self.next_since.isoformat() if self.next_since else "",
            "after_id": self.after_id,
            "known": dict(self.known),
            "recent": dict(self.recent),
        }

    @classmethod
    def from_checkpoint(cls, checkpoint: Mapping[str, Any] | None) -> "_Position":
        content = dict(checkpoint or {})
        after_id = content.get("after_id")
        known, recent = (content.get(key) for key in ("known", "recent"))
        return cls(
            since=parse_time(get_text(content, "since")),
            next_since=parse_time(get_text(content, "next_since")),
            after_id=after_id if isinstance(after_id, int) else 0,
            known=dict(known) if isinstance(known, dict) else {},
            recent=dict(recent) if isinstance(recent, dict) else {},
        )


class AzureDevOpsSource:
    """Work items of projects of one organisation.

    Deletions are found by `list_ids`: a query of ids, at most 20,000 a request.

    Args:
        organization_url: Address of the organisation, such as ``https://dev.azure.com/contoso``, or of a collection of
            Azure DevOps Server.
        projects: Names of the projects.
        token: Personal access token that may read work items.
        area_paths: Area paths with all below them; the whole projects without any.
        types: Types of work items; all without any.
        reads_history: Whether state changes are read, at the cost of a request a work item.
        api_version: Version of the API; older servers need 6.0 or 7.0.
        policy: Limits of requests.

    Raises:
        ConfigurationError: The address is invalid.
    """

    def __init__(  # noqa: PLR0913  # the settings of a source
        self,
        organization_url: str,
        projects: Sequence[str],
        token: str,
        *,
        area_paths: Sequence[str] = (),
        types: Sequence[str] = (),
        reads_history: bool = True,
        api_version: str = DEFAULT_API_VERSION,
        policy: RequestPolicy | None = None,
    ) -> None:
        header = {"authorization": f"Basic {base64.b64encode(f':{token}'.encode()).decode()}"}
        self._client = JSONClient(organization_url, name="Azure DevOps", authenticate=lambda: header, policy=policy)
        self._scope = WorkItemQuery(tuple(projects), tuple(area_paths), tuple(types))
        self._reads_history = reads_history
        self._api_version = api_version
        self._search = WorkItemSearch(self._client, api_version)

    @property
    def kind(self) -> SourceKind:
        """Kind of its items."""
        return "backlog"

    @property
    def client(self) -> JSONClient:
        """Client with the counts of requests."""
        return self._client

    def check(self) -> str:
        """Check address, credential and projects, with a request each; return their names."""
        params = {"api-version": self._api_version}
        replies = [self._client.get(f"_apis/projects/{quote(name, safe='')}", params) for name in self._scope.projects]
        return ", ".join(get_text(reply.content, "name") for reply in replies)

    def read_changes(self, checkpoint: Checkpoint | None) -> Iterator[Page]:
        """Yield work items that changed since a checkpoint, by id, in batches of 200.

        The checkpoint has the time of the earliest change, that of the next run by the server's clock, the last id, and
        the revisions of recent changes, which the next run finds again because its window overlaps.
        """
        position = _Position.from_checkpoint(checkpoint)
        is_resumed = position.next_since is not None
        yield from self._read_window(position)
        position = position.finish()
        if is_resumed:  # the window of a run that was killed does not have what changed since that run
            yield from self._read_window(position)
            position = position.finish()
        yield Page((), position.to_checkpoint())

    def read_items(self, ids: Sequence[str]) -> Page:
        """Read work items by their ids."""
        items: list[Item] = []
        deleted = [item_id for item_id in ids if not item_id.isdigit()]
        failures: list[ItemFailure] = []
        numbers = [int(item_id) for item_id in ids if item_id.isdigit()]
        for start in range(0, len(numbers), MAX_BATCH_ITEMS):
            page = self._read_batch(numbers[start : start + MAX_BATCH_ITEMS])
            items += page.items
            deleted += page.deleted
            failures += page.failures
        return Page(items, {}, deleted, failures)

    def list_ids(self) -> Iterator[str]:
        """Yield the ids of all work items of the scope."""
        after_id, is_last = 0, False
        while not is_last:
            window = self._search.read_window(self._scope, after_id)
            yield from map(str, window.ids)
            after_id, is_last = window.last_id, window.is_last

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _read_window(self, position: _Position) -> Iterator[Page]:
        """Yield the work items that changed since `position`, and move it behind each page."""
        since = position.since - OVERLAP if position.since else None
        query = replace(self._scope, since=since)
        is_last = False
        while not is_last:
            window = self._search.read_window(query, position.after_id)
            is_last = window.is_last
            position.next_since = position.next_since or window.server_time or datetime.now(UTC)
            pending = self._skip_known(window.ids, position)
            total = len(pending) if is_last and position.after_id == 0 else None
            for start in range(0, len(pending), MAX_BATCH_ITEMS):
                ids = pending[start : start + MAX_BATCH_ITEMS]
                page = self._read_batch(ids)
                position.add_recent(page.items)
                position.after_id = ids[-1]
                yield Page(page.items, position.to_checkpoint(), page.deleted, page.failures, total)
            position.after_id = max(position.after_id, window.last_id)

    def _skip_known(self, ids: Sequence[int], position: _Position) -> list[int]:
        """Return the ids without those whose revision the last run has read."""
        candidates = [number for number in ids if str(number) in position.known]
        unchanged: set[int] = set()
        for start in range(0, len(candidates), MAX_BATCH_ITEMS):
            batch = candidates[start : start + MAX_BATCH_ITEMS]
            for content in self._request_batch({"ids": batch, "fields": ["System.Rev"]}):
                item_id, revision = get_text(content, "id"), get_text(content, "rev")
                if position.known.get(item_id) == revision:
                    unchanged.add(int(item_id))
                    position.recent[item_id] = revision
        return [number for number in ids if number not in unchanged]

    def _request_batch(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """Request a batch; work items that are gone or hidden are left out."""
        params = {"api-version": self._api_version}
        reply = self._client.post("_apis/wit/workitemsbatch", {**body, "errorPolicy": "Omit"}, params)
        return get_objects(reply.content, "value")

    def _read_batch(self, ids: Sequence[int]) -> Page:
        contents = {get_text(content, "id"): content for content in self._request_batch(_build_batch_body(ids))}
        results = read_each(self._read_item, contents.values())
        return Page(
            [result for result in results if isinstance(result, Item)],
            {},
            [str(number) for number in ids if str(number) not in contents],
            [result for result in results if isinstance(result, ItemFailure)],
        )

    def _read_item(self, content: dict[str, Any]) -> Item | ItemFailure:
        """Read comments and history of a work item, and convert it."""
        try:
            return self._convert_item(content)
        except (SourceUnavailableError, SourceAuthenticationError):
            raise
        except SourceError as error:
            item_id = get_text(content, "id")
            return ItemFailure(item_id, str(error), f"{self._client.base_url}/_workitems/edit/{item_id}")

    def _convert_item(self, content: dict[str, Any]) -> Item:
        item_id = get_text(content, "id")
        project = quote(get_text(content, "fields", "System.TeamProject"), safe="")
        path = f"{project}/_apis/wit/workItems/{item_id}"
        comments = [] if get_text(content, "fields", "System.CommentCount") == "0" else self._read_comments(path)
        has_history = self._reads_history and get_text(content, "rev") != "1"
        return build_item(content, self._client.base_url, comments, self._read_updates(path) if has_history else [])

    def _read_comments(self, path: str) -> list[dict[str, Any]]:
        """Read all comments of a work item, oldest first."""
        comments: dict[str, dict[str, Any]] = {}
        token = ""
        for _ in range(_MAX_LISTS):
            params: dict[str, Any] = {
                "$top": _MAX_COMMENTS_PER_REQUEST,
                "order": "asc",
                "api-version": f"{self._api_version}-preview",
            }
            params |= {"continuationToken": token} if token else {}
            reply = self._client.get(f"{path}/comments", params, statuses=(404,))
            comments |= {get_text(comment, "id"): comment for comment in get_objects(reply.content, "comments")}
            next_token = get_text(reply.content, "continuationToken")
            if not next_token or next_token == token:
                break
            token = next_token
        return list(comments.values())

    def _read_updates(self, path: str) -> list[dict[str, Any]]:
        """Read all updates of a work item, oldest first."""
        updates: list[dict[str, Any]] = []
        for _ in range(_MAX_LISTS):
            params = {"$top": _MAX_UPDATES_PER_REQUEST, "$skip": len(updates), "api-version": self._api_version}
            batch = get_objects(self._client.get(f"{path}/updates", params, statuses=(404,)).content, "value")
            updates += batch
            if len(batch) < _MAX_UPDATES_PER_REQUEST:
                break
        return updates


def _build_batch_body(ids: Sequence[int]) -> dict[str, Any]:
    return {"ids": list(ids), "$expand": "Relations"}  # with all fields; the two exclude each other
