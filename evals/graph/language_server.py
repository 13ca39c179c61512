"""Small client of a language server: it opens files and requests definitions."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from .ground_truth import EvaluationError


class LanguageServer:
    """A running language server, connected by its standard input and output.

    Args:
        command: The program and its arguments.
        root: The repository.
        language: Its id in the protocol, such as `python`.
        settings: Replies to the server's configuration requests, by section.

    Raises:
        EvaluationError: The program cannot be started.
    """

    def __init__(
        self, command: Sequence[str], root: Path, language: str, settings: Mapping[str, object] | None = None
    ) -> None:
        self._root, self._language, self._settings = root.resolve(), language, settings or {}
        try:
            self._process = subprocess.Popen(
                command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            raise EvaluationError(f"{command[0]}: {error.strerror}") from error
        self._command = " ".join(command)
        self._last_request_id = 0
        self._open_uris: set[str] = set()
        uri = self._root.as_uri()
        self._send_request(
            "initialize",
            {
                "processId": None,
                "rootUri": uri,
                "workspaceFolders": [{"uri": uri, "name": self._root.name}],
                "capabilities": {"workspace": {"configuration": True, "workspaceFolders": True}},
            },
        )
        self._send({"method": "initialized", "params": {}})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Request a shutdown; kill the server after an error."""
        if kind is None:
            self._send_request("shutdown", None)
            self._send({"method": "exit"})
        else:
            self._process.kill()
        self._process.communicate()

    def find_definitions(self, path: str, line: int, column: int) -> list[tuple[Path, int, int]]:
        """Return the definitions of the name at a position: file, line from 1, column from 0 in UTF-16 units.

        Args:
            path: File in the repository.
            line: Line of the name, from 1.
            column: Column of the name, from 0, in UTF-16 units.
        """
        uri = (self._root / path).as_uri()
        if uri not in self._open_uris:
            text = (self._root / path).read_text(encoding="utf-8", errors="replace")
            document = {"uri": uri, "languageId": self._language, "version": 1, "text": text}
            self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
            self._open_uris.add(uri)
        position = {"line": line - 1, "character": column}
        result = self._send_request("textDocument/definition", {"textDocument": {"uri": uri}, "position": position})
        rows = result if isinstance(result, list) else [result] if result else []
        return [_parse_location(row) for row in rows]

    def _send_request(self, method: str, params: object) -> Any:  # noqa: ANN401  # the result depends on the method
        """Send a request and return its result; requests of the server in between are answered."""
        self._last_request_id += 1
        self._send({"id": self._last_request_id, "method": method, "params": params})
        while True:
            message = self._receive()
            if "method" in message and "id" in message:
                self._send({"id": message["id"], "result": self._build_reply(message)})
            elif message.get("id") == self._last_request_id:
                if "error" in message:
                    raise EvaluationError(f"{self._command}: {method}: {message['error'].get('message')}")
                return message["result"]

    def _build_reply(self, message: dict[str, Any]) -> object:
        if message["method"] != "workspace/configuration":
            return None
        return [self._settings.get(item.get("section", ""), {}) for item in message["params"]["items"]]

    def _send(self, message: dict[str, object]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        pipe = self._process.stdin
        if pipe is None or self._process.poll() is not None:
            raise EvaluationError(f"{self._command}: exited with status {self._process.returncode}")
        pipe.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        pipe.flush()

    def _receive(self) -> dict[str, Any]:
        pipe = self._process.stdout
        length = 0
        while pipe is not None and (header := pipe.readline()).strip():
            name, _, value = header.decode().partition(":")
            if name.lower() == "content-length":
                length = int(value)
        if pipe is None or not length:
            raise EvaluationError(f"{self._command}: exited with status {self._process.wait()} before it replied")
        return cast(dict[str, Any], json.loads(pipe.read(length)))


def _parse_location(row: dict[str, Any]) -> tuple[Path, int, int]:
    """Return the place of a `Location` or a `LocationLink`."""
    uri = row.get("targetUri") or row["uri"]
    start = (row.get("targetSelectionRange") or row["range"])["start"]
    return Path(url2pathname(unquote(urlsplit(uri).path))), start["line"] + 1, start["character"]
