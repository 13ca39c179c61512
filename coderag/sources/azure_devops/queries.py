"""WIQL queries for ids of work items. A query of more than 20,000 results fails, so that large ones are split by id.

Source: https://learn.microsoft.com/azure/devops/boards/queries/wiql-syntax
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from coderag.errors import SourceError
from coderag.sources.http_client import JSONClient
from coderag.sources.json_values import get_objects, get_text, parse_time

MIN_ID_WINDOW: Final = 10_000
"""A window of as many ids cannot have more results than a query may have."""
_TOO_MANY_RESULTS = "VS402337"


@dataclass(frozen=True, slots=True)
class WorkItemQuery:
    """Scope of a query.

    Attributes:
        projects: Names of projects.
        area_paths: Area paths with all below them; the whole projects without any.
        types: Types of work items; all without any.
        since: Time of the earliest change.
    """

    projects: tuple[str, ...]
    area_paths: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    since: datetime | None = None

    def to_wiql(self, after_id: int, last_id: int | None) -> str:
        """Format the query for ids above one, and up to another, in their order."""
        conditions = [f"[System.TeamProject] IN ({', '.join(map(_quote, self.projects))})", f"[System.Id] > {after_id}"]
        if last_id is not None:
            conditions.append(f"[System.Id] <= {last_id}")
        if self.area_paths:
            paths = " OR ".join(f"[System.AreaPath] UNDER {_quote(path)}" for path in self.area_paths)
            conditions.append(f"({paths})")
        if self.types:
            conditions.append(f"[System.WorkItemType] IN ({', '.join(map(_quote, self.types))})")
        if self.since is not None:  # with a zone; without one, the zone of the account would count
            conditions.append(f"[System.ChangedDate] >= '{self.since.astimezone(UTC):%Y-%m-%dT%H:%M:%S.000Z}'")
        where = " AND ".join(conditions)
        return f"SELECT [System.Id] FROM WorkItems WHERE {where} ORDER BY [System.Id]"  # noqa: S608  # texts are quoted


@dataclass(frozen=True, slots=True)
class IdWindow:
    """Ids of a query, in order.

    Attributes:
        is_last: Whether there are none above them.
        last_id: Id up to which the window reaches.
        server_time: The server's time of the query.
    """

    ids: tuple[int, ...]
    is_last: bool
    last_id: int
    server_time: datetime | None


class WorkItemSearch:
    """Runs queries, in windows of ids where the result is too large.

    Args:
        client: Client of the organisation.
        api_version: Version of the API.
    """

    def __init__(self, client: JSONClient, api_version: str) -> None:
        self._client = client
        # Without time precision, a time in a query is an error, and its day begins in the zone of the account.
        self._params = {"timePrecision": "true", "api-version": api_version}
        self._width = MIN_ID_WINDOW

    def read_window(self, query: WorkItemQuery, after_id: int) -> IdWindow:
        """Read the ids above one: all, or a window of them.

        Raises:
            SourceError: The query is refused, or its result does not follow it.
        """
        window = self._run(query, after_id, None)
        while window is None:
            window = self._run(query, after_id, after_id + self._width)
            if window is None and self._width <= MIN_ID_WINDOW:
                message = f"{self._client.name} at {self._client.host} finds too many work items between two ids"
                raise SourceError(message)
            self._width = max(MIN_ID_WINDOW, self._width // 2) if window is None else self._adapt_width(window.ids)
        return window

    def _adapt_width(self, ids: Sequence[int]) -> int:
        """Widen the next window where ids are sparse: they are numbered over all projects of an organisation."""
        return self._width * 4 if len(ids) < MIN_ID_WINDOW // 4 else self._width

    def _run(self, query: WorkItemQuery, after_id: int, last_id: int | None) -> IdWindow | None:
        """Run a query; None if it has too many results."""
        body = {"query": query.to_wiql(after_id, last_id)}
        reply = self._client.post("_apis/wit/wiql", body, self._params, statuses=(400,))
        if reply.status == 400:
            text = get_text(reply.content, "message")
            if _TOO_MANY_RESULTS in text:
                return None
            message = f"{self._client.name} at {self._client.host} refuses the query: {self._client.redact(text)}"
            raise SourceError(message, hint="Check the area paths and types of the source.")
        numbers = [item.get("id") for item in get_objects(reply.content, "workItems")]
        ids = tuple(sorted({number for number in numbers if isinstance(number, int) and number > after_id}))
        if numbers and not ids:
            message = f"{self._client.name} at {self._client.host} repeats the same work items without end"
            raise SourceError(message)
        reach = last_id if last_id is not None else (ids[-1] if ids else after_id)
        return IdWindow(ids, last_id is None, reach, parse_time(get_text(reply.content, "asOf")))


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
