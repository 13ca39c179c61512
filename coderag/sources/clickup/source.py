"""ClickUp connector: tasks of a workspace by the time of their change, and the comments of each.

Pages of a list whose order changes while it is read leave out items. Tasks are therefore read by key: always the first page
of the tasks that changed after the last one.

Sources: https://developer.clickup.com/reference/getfilteredteamtasks,
https://developer.clickup.com/docs/task-comments-pagination, https://developer.clickup.com/docs/rate-limits
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from coderag.errors import SourceAuthenticationError, SourceError, SourceUnavailableError
from coderag.schema.items import Item, ItemFailure
from coderag.sources.clickup.checkpoint import ScopePosition, dump_positions, load_positions
from coderag.sources.clickup.task_items import build_item, find_task_key
from coderag.sources.concurrent_reads import read_each
from coderag.sources.http_client import JSONClient, JSONReply, RequestPolicy
from coderag.sources.json_values import get_objects, get_text
from coderag.sources.protocol import OVERLAP, Checkpoint, Page, SourceKind
from coderag.sources.rate_limit import RequestLimiter

API_URL: Final = "https://api.clickup.com/api/v2"
TASKS_PER_PAGE: Final = 100
DEFAULT_REQUESTS_PER_MINUTE: Final = 100
_MAX_COMMENT_PAGES = 1_000
_COMMENTS_PER_PAGE = 25
_KINDS = {"space_ids[]": "space", "project_ids[]": "folder", "list_ids[]": "list"}
"""Parameters of the scope, which call folders projects."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Part of the scope: a path of tasks and the parameters that select them."""

    key: str
    path: str
    params: dict[str, Any]


class ClickUpSource:
    """Tasks of a workspace, or of some of its spaces, folders and lists together.

    Deletions are found by `list_ids`.

    Args:
        team: Id of the workspace, which the API calls team.
        token: Personal token.
        spaces, folders, lists: Ids; the whole workspace without any.
        includes_archived: Whether archived tasks are read, too, at the cost of a request a list; without it they are gone.
        reads_comments: Whether comments are read, at the cost of a request a task.
        address: Address of the API.
        policy: Limits of requests.

    Raises:
        ConfigurationError: The address is invalid.
    """

    def __init__(  # noqa: PLR0913  # the settings of a source
        self,
        team: str,
        token: str,
        *,
        spaces: Sequence[str] = (),
        folders: Sequence[str] = (),
        lists: Sequence[str] = (),
        includes_archived: bool = False,
        reads_comments: bool = True,
        address: str = API_URL,
        policy: RequestPolicy | None = None,
    ) -> None:
        sleep = policy.sleep if policy else time.sleep
        self._limiter = RequestLimiter(DEFAULT_REQUESTS_PER_MINUTE, sleep=sleep)
        header = {"authorization": token}
        self._client = JSONClient(
            address, name="ClickUp", authenticate=lambda: header, policy=policy, before_request=self._limiter.wait
        )
        self._team = team
        self._path = f"team/{quote(team, safe='')}"
        scope = zip(_KINDS, (spaces, folders, lists), strict=True)
        self._scope = {parameter: list(ids) for parameter, ids in scope if ids}
        self._includes_archived = includes_archived
        self._reads_comments = reads_comments
        self._type_names: dict[str, str] | None = None

    @property
    def kind(self) -> SourceKind:
        """Kind of its items."""
        return "backlog"

    @property
    def client(self) -> JSONClient:
        """Client with the counts of requests."""
        return self._client

    def check(self) -> str:
        """Check address, token and scope; return the workspace's name."""
        teams = get_objects(self._get("team").content, "teams")
        team = next((team for team in teams if get_text(team, "id") == self._team), None)
        if team is None:
            names = ", ".join(f"{get_text(team, 'name')} ({get_text(team, 'id')})" for team in teams)
            message = f"ClickUp at {self._client.host} has no workspace {self._team}; the token sees: {names or 'none'}"
            raise SourceError(message, hint="Set the id of the workspace.")
        for parameter, ids in self._scope.items():
            for identifier in ids:
                self._get(f"{_KINDS[parameter]}/{quote(identifier, safe='')}")
        return get_text(team, "name") or self._team

    def read_changes(self, checkpoint: Checkpoint | None) -> Iterator[Page]:
        """Yield tasks with their comments, the least recently changed first."""
        parts = self._build_parts()
        stored = load_positions(checkpoint, [part.key for part in parts])
        positions = {key: position.rewind(OVERLAP) for key, position in stored.items()}
        last: Checkpoint | None = None
        for part in parts:
            position = positions[part.key]
            for tasks in self._iterate_tasks(part, position):
                items, failures = self._read_tasks(tasks)
                last = dump_positions(positions)
                yield Page(items, last, failures=failures)
            position.is_complete = True
            position.forget_old(OVERLAP)
        if dump_positions(positions) != last:
            yield Page((), dump_positions(positions))

    def read_items(self, ids: Sequence[str]) -> Page:
        """Read tasks by their keys."""
        tasks, deleted = [], []
        for key in ids:
            params = {"include_markdown_description": "true"}
            if "-" in key:  # a custom id
                params |= {"custom_task_ids": "true", "team_id": self._team}
            reply = self._get(f"task/{quote(key, safe='')}", params, statuses=(401, 404))
            if reply.status == 200:
                tasks.append(reply.content)
            else:
                if reply.status == 401:  # of a task that the token may not see, or of the token itself
                    self._get("user")
                deleted.append(key)
        items, failures = self._read_tasks(tasks)
        return Page(items, {}, deleted, failures)

    def list_ids(self) -> Iterator[str]:
        """Yield the keys of all tasks of the scope."""
        for part in self._build_parts():
            for tasks in self._iterate_tasks(part, ScopePosition()):
                yield from map(find_task_key, tasks)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _get(self, path: str, params: Mapping[str, Any] | None = None, *, statuses: Sequence[int] = ()) -> JSONReply:
        reply = self._client.get(path, params, statuses=statuses)
        limit = reply.headers.get("x-ratelimit-limit", "")
        if limit.isdigit() and int(limit) > 0:  # larger plans have larger limits
            self._limiter.max_requests = int(limit)
        return reply

    def _build_parts(self) -> list[_Part]:
        """Build the parts of the scope: together they select what any of spaces, folders and lists selects."""
        path = f"{self._path}/task"
        parts = [_Part(f"{name}={','.join(ids)}", path, {name: ids}) for name, ids in self._scope.items()]
        parts = parts or [_Part("all", path, {})]
        if self._includes_archived:
            for identifier in self._list_lists():
                quoted = quote(identifier, safe="")
                parts.append(_Part(f"archived={identifier}", f"list/{quoted}/task", {"archived": "true"}))
        return parts

    def _list_lists(self) -> list[str]:
        """List the ids of all lists of the scope. Only a list's own tasks are available archived."""
        lists = list(self._scope.get("list_ids[]", ()))
        folders = list(self._scope.get("project_ids[]", ()))
        spaces = list(self._scope.get("space_ids[]", ()))
        if not self._scope:
            spaces = [
                get_text(space, "id") for space in get_objects(self._get(f"{self._path}/space").content, "spaces")
            ]
        for space in spaces:
            quoted = quote(space, safe="")
            folders += [
                get_text(folder, "id") for folder in get_objects(self._get(f"space/{quoted}/folder").content, "folders")
            ]
            lists += [get_text(item, "id") for item in get_objects(self._get(f"space/{quoted}/list").content, "lists")]
        for folder in folders:
            content = self._get(f"folder/{quote(folder, safe='')}/list").content
            lists += [get_text(item, "id") for item in get_objects(content, "lists")]
        return list(dict.fromkeys(filter(None, lists)))

    def _iterate_tasks(self, part: _Part, position: ScopePosition) -> Iterator[list[dict[str, Any]]]:
        """Yield tasks that are new or changed since `position`, page by page, and move it behind each page."""
        is_reversed = True
        read: set[tuple[str, int]] = set()
        while True:
            reply = self._request_tasks(part, position, is_reversed=is_reversed)
            tasks = get_objects(reply.content, "tasks")
            times = [_get_time_ms(task) for task in tasks]
            if times and times[0] > times[-1]:
                if not is_reversed:
                    message = f"ClickUp at {self._client.host} does not order tasks by the time of their change"
                    raise SourceError(message)
                is_reversed = False  # the newest came first
                continue
            keys = {(get_text(task, "id"), _get_time_ms(task)) for task in tasks}
            if position.page and keys <= read:
                message = f"ClickUp at {self._client.host} repeats a page of tasks without end"
                raise SourceError(message)
            read |= keys
            changed = [task for task in tasks if position.recent.get(get_text(task, "id")) != _get_time_ms(task)]
            position.recent |= {get_text(task, "id"): _get_time_ms(task) for task in tasks}
            is_last = reply.content.get("last_page")
            is_last = not tasks or (is_last if isinstance(is_last, bool) else len(tasks) < TASKS_PER_PAGE)
            newest = max(times, default=0)
            # The tasks of the last millisecond may go on; they come again and are skipped.
            if newest - 1 > position.after_ms:
                position.after_ms, position.page = newest - 1, 0
                position.forget_old(OVERLAP)
            else:
                position.page += 1
            position.page = 0 if is_last else position.page
            if changed:
                yield changed
            if is_last:
                return

    def _request_tasks(self, part: _Part, position: ScopePosition, *, is_reversed: bool) -> JSONReply:
        params: dict[str, Any] = {
            "page": position.page,
            "order_by": "updated",
            "reverse": "true" if is_reversed else "false",
            "subtasks": "true",
            "include_closed": "true",
            "include_markdown_description": "true",
            **part.params,
        }
        params |= {"date_updated_gt": position.after_ms} if position.after_ms else {}
        return self._get(part.path, params)

    def _read_tasks(self, tasks: Sequence[dict[str, Any]]) -> tuple[list[Item], list[ItemFailure]]:
        results = read_each(self._read_task, tasks)
        return (
            [result for result in results if isinstance(result, Item)],
            [result for result in results if isinstance(result, ItemFailure)],
        )

    def _read_task(self, task: dict[str, Any]) -> Item | ItemFailure:
        try:
            comments = self._read_comments(get_text(task, "id")) if self._reads_comments else []
            return build_item(task, comments, self._find_type_names(task))
        except (SourceUnavailableError, SourceAuthenticationError):
            raise
        except SourceError as error:
            return ItemFailure(find_task_key(task), str(error), get_text(task, "url"))

    def _read_comments(self, task_id: str) -> list[dict[str, Any]]:
        """Read all comments of a task with their replies, oldest first."""
        comments: dict[str, dict[str, Any]] = {}
        params: dict[str, str] = {}
        for _ in range(_MAX_COMMENT_PAGES):
            reply = self._get(f"task/{quote(task_id, safe='')}/comment", params, statuses=(404,))
            page = get_objects(reply.content, "comments")
            added = {key: comment for comment in page if (key := get_text(comment, "id")) not in comments}
            comments |= added
            if not added or len(page) < _COMMENTS_PER_PAGE:
                break
            params = {"start": get_text(page[-1], "date"), "start_id": get_text(page[-1], "id")}
        threads: list[dict[str, Any]] = []
        for key, comment in reversed(comments.items()):
            threads.append(comment)
            if get_text(comment, "reply_count") not in {"", "0"}:
                reply = self._get(f"comment/{quote(key, safe='')}/reply", statuses=(404,))
                threads += reversed(get_objects(reply.content, "comments"))
        return threads

    def _find_type_names(self, task: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the names of custom task types, requested once if a task has such a type."""
        if get_text(task, "custom_item_id") in {"", "0", "1"}:
            return {}
        if self._type_names is None:
            content = self._get(f"{self._path}/custom_item", statuses=(403, 404)).content
            types = get_objects(content, "custom_items")
            self._type_names = {get_text(kind, "id"): get_text(kind, "name") for kind in types}
        return self._type_names


def _get_time_ms(task: Mapping[str, Any]) -> int:
    text = get_text(task, "date_updated")
    return int(text) if text.isdigit() else 0
