"""A small source of items: a server on loopback that lists changes by number, and its connector."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import parse_qs, urlsplit

from coderag.config.source_sections import JiraSection
from coderag.errors import SourceAuthenticationError, SourceError, SourceUnavailableError
from coderag.schema.items import PUBLIC, Item, ItemFailure
from coderag.sources.connector_table import ConnectorContext
from coderag.sources.protocol import Checkpoint, Page, SourceKind

_ATTEMPTS: Final = 3
_IDS_A_PAGE: Final = 100


@dataclass
class _Failure:
    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass
class _State:
    items: dict[str, dict[str, Any]] = field(default_factory=dict)
    changes: int = 0


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Ignore clients that were killed."""


class ItemServer:
    """The server: ``GET /items?after=N`` answers the next changes, ``/ids?after=ID`` ids, ``/item?id=ID`` an item.

    Args:
        key: Key that it accepts.
    """

    def __init__(self, key: str) -> None:
        self.page_size = 3
        self.request_count = 0
        self.total: int | None = None
        self.bad_items: set[str] = set()
        self.hides_ids = False
        self._key = key
        self._state = _State()
        self._failures: list[_Failure] = []
        self._loops = False
        self._server = _QuietServer(("127.0.0.1", 0), self._make_handler())
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add_item(self, title: str, text: str) -> str:
        item_id = f"ITEM-{len(self._state.items) + 1}"
        self._state.items[item_id] = {"id": item_id, "title": title}
        self.change_item(item_id, text)
        return item_id

    def change_item(self, item_id: str, text: str) -> None:
        self._state.items[item_id]["text"] = text
        self.move_item(item_id)

    def move_item(self, item_id: str) -> None:
        self._state.changes += 1
        self._state.items[item_id]["change"] = self._state.changes

    def delete_item(self, item_id: str) -> None:
        self._state.items[item_id]["gone"] = True

    def list_ids(self) -> list[str]:
        """List the ids of all items."""
        return [item["id"] for item in self._list_items()]

    def fail_next(
        self, status: int, headers: Mapping[str, str] | None = None, body: bytes = b"", *, times: int = 1
    ) -> None:
        self._failures = [_Failure(status, headers or {}, body)] * times

    def refuse_key(self, *, refuses: bool = True) -> None:
        self._failures = [_Failure(401, {}, b"")] * (1_000 if refuses else 0)

    def loop_pages(self, *, loops: bool = True) -> None:
        self._loops = loops

    def _list_items(self) -> list[dict[str, Any]]:
        return [item for item in self._state.items.values() if "gone" not in item]

    def _answer(self, path: str, query: dict[str, str]) -> dict[str, Any] | None:
        if path == "/items":
            after = 0 if self._loops else int(query["after"])
            changed = sorted((item for item in self._list_items() if item["change"] > after), key=lambda i: i["change"])
            page = changed[: self.page_size]
            return {"items": page, "more": self._loops or len(changed) > len(page), "total": self.total}
        if path == "/ids":
            ids = (
                []
                if self.hides_ids
                else sorted(item["id"] for item in self._list_items() if item["id"] > query["after"])
            )
            return {"ids": ids[:_IDS_A_PAGE]}
        item = self._state.items.get(query.get("id", ""))
        return item if item is not None and "gone" not in item else None

    def _make_handler(self) -> type[BaseHTTPRequestHandler]:
        state = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                state.request_count += 1
                if state._failures:
                    failure = state._failures.pop()
                    self._send(failure.status, failure.headers, failure.body)
                    return
                if self.headers["Authorization"] != f"Bearer {state._key}":
                    self._send(401, {}, b"")
                    return
                parts = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
                answer = state._answer(parts.path, query)
                status = 404 if answer is None else 200
                self._send(status, {"Content-Type": "application/json"}, json.dumps(answer).encode())

            def _send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        return Handler


class ItemServerSource:
    """Connector to an `ItemServer`."""

    kind: SourceKind = "backlog"

    def __init__(self, address: str, key: str, bad_items: Sequence[str] | set[str] = ()) -> None:
        self._address = address
        self._key = key
        self._bad_items = bad_items

    def check(self) -> str:
        self._get("/ids?after=ZZ")
        return "all items"

    def read_changes(self, checkpoint: Checkpoint | None) -> Iterator[Page]:
        after = checkpoint["after"] if checkpoint else 0
        while True:
            reply = self._get(f"/items?after={after}")
            after = max([after, *(item["change"] for item in reply["items"])])
            yield self._make_page(reply["items"], {"after": after}, reply["total"])
            if not reply["more"]:
                return

    def read_items(self, ids: Sequence[str]) -> Page:
        items, gone = [], []
        for item_id in ids:
            reply = self._get(f"/item?id={item_id}")
            items += [reply] if reply else []
            gone += [] if reply else [item_id]
        page = self._make_page(items, {}, None)
        return Page(page.items, {}, gone, page.failures)

    def list_ids(self) -> Iterator[str]:
        after = ""
        while True:
            ids = self._get(f"/ids?after={after}")["ids"]
            yield from ids
            if len(ids) < _IDS_A_PAGE:
                return
            after = ids[-1]

    def close(self) -> None:
        pass

    def _make_page(self, rows: list[dict[str, Any]], checkpoint: Checkpoint, total: int | None) -> Page:
        good = [row for row in rows if row["id"] not in self._bad_items]
        failures = [ItemFailure(row["id"], "HTTP 500") for row in rows if row["id"] in self._bad_items]
        items = [
            Item(row["id"], "ticket", row["title"], row["text"], revision=str(row["change"]), access=PUBLIC)
            for row in good
        ]
        return Page(items, checkpoint, failures=failures, total=total)

    def _get(self, path: str) -> dict[str, Any]:
        request = urllib.request.Request(self._address + path, headers={"Authorization": f"Bearer {self._key}"})
        for _ in range(_ATTEMPTS):
            try:
                with urllib.request.urlopen(request, timeout=10) as reply:
                    content = json.loads(reply.read())
                    return content if isinstance(content, dict) else {}
            except urllib.error.HTTPError as error:
                error.close()
                if error.code == 404:
                    return {}
                if error.code == 401:
                    raise SourceAuthenticationError(f"{self._address} refused the key") from error
            except ValueError as error:
                raise SourceError(f"{self._address} answered {path} with something other than JSON") from error
        raise SourceUnavailableError(f"{self._address} is overloaded")


def open_item_server(section: JiraSection, context: ConnectorContext) -> ItemServerSource:
    """Open the connector by the settings of a Jira, for tests of what is common to all systems."""
    return ItemServerSource(section.address, context.credential)
