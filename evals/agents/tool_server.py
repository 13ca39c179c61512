"""Process that keeps the tools of a session warm, and calls them for commands on the same machine."""

import json
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any, Final

from coderag.errors import ServiceError

from .opening import open_toolset
from .session import Session
from .toolsets import CallReply, Toolset, ToolSpec

_ADDRESS, _LOG = "server.json", "server.log"
_CHECKOUT: Final = Path(__file__).resolve().parents[2]
_START_TIMEOUT_S: Final = 180.0
_MARGIN_S: Final = 60.0
_POLL_S: Final = 0.1


class ServedTools:
    """Toolset of a session that another process keeps warm. The process is started on first use.

    Its calls are logged by that process, so call it without `Session.call`.

    Args:
        session: The session.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def instructions(self) -> str:
        """Advice of the tools' author."""
        return str(self._description["instructions"])

    @property
    def definitions(self) -> Sequence[ToolSpec]:
        """The tools."""
        return [ToolSpec(**tool) for tool in self._description["tools"]]

    @cached_property
    def _description(self) -> dict[str, Any]:
        return self._request({"describe": True})

    def call(self, tool: str, arguments: Mapping[str, Any]) -> CallReply:
        """Call a tool within the session's limits.

        Raises:
            ServiceError: The process does not start or ended.
        """
        return CallReply(**self._request({"tool": tool, "arguments": dict(arguments)}))

    def _request(self, message: Mapping[str, Any]) -> dict[str, Any]:
        try:
            with _connect(self._session) or _start_server(self._session) as connection:
                connection.send_bytes(json.dumps(message).encode())
                reply: dict[str, Any] = json.loads(connection.recv_bytes())
                return reply
        except (EOFError, ConnectionError) as error:
            log = self._session.folder / _LOG
            raise ServiceError("the server of the session ended during the call", hint=f"See {log}.") from error


def serve(session: Session) -> None:
    """Serve the tools of a session until `stop_server` stops it, at the latest when the time of the session is over."""
    key = secrets.token_bytes(32)
    with (
        open_toolset(session.record.arm, Path(session.record.root)) as toolset,
        Listener(("127.0.0.1", 0), authkey=key) as listener,
    ):
        _write_address(session, listener.address[1], key)
        timer = threading.Timer(session.record.max_seconds + _MARGIN_S, stop_server, [session])
        timer.daemon = True
        timer.start()
        is_open = True
        while is_open:
            try:
                with listener.accept() as connection:
                    message = json.loads(connection.recv_bytes())
                    connection.send_bytes(json.dumps(_respond(session, toolset, message)).encode())
                    is_open = "stop" not in message
            except (AuthenticationError, EOFError, ConnectionError):  # a client that is not ours, or that went away
                continue
    (session.folder / _ADDRESS).unlink(missing_ok=True)


def _respond(session: Session, toolset: Toolset, message: Mapping[str, Any]) -> dict[str, Any]:
    if "tool" in message:
        return asdict(session.call(toolset, message["tool"], message["arguments"]))
    if "describe" in message:
        tools = [{**asdict(tool), "parameters": dict(tool.parameters)} for tool in toolset.definitions]
        return {"instructions": toolset.instructions, "tools": tools}
    return {}


def stop_server(session: Session) -> None:
    """Stop the process of a session if there is one."""
    connection = _connect(session)
    if connection is not None:
        with connection:
            connection.send_bytes(b'{"stop": true}')
            connection.recv_bytes()


def _connect(session: Session) -> Connection | None:
    try:
        address = json.loads((session.folder / _ADDRESS).read_text(encoding="utf-8"))
        return Client(("127.0.0.1", address["port"]), authkey=bytes.fromhex(address["key"]))
    except (OSError, ValueError):  # missing or left over
        return None


def _write_address(session: Session, port: int, key: bytes) -> None:
    unfinished = session.folder / f"{_ADDRESS}.unfinished"
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123  # only the user may read it
        json.dump({"port": port, "key": key.hex(), "pid": os.getpid()}, file)
    unfinished.replace(session.folder / _ADDRESS)


def _start_server(session: Session) -> Connection:
    with (session.folder / _LOG).open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "evals.agents", "serve", "--session", str(session.folder)],
            cwd=_CHECKOUT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    deadline = time.monotonic() + _START_TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline:
        if connection := _connect(session):
            threading.Thread(target=process.wait, daemon=True).start()  # reaps it if this process outlives it
            return connection
        time.sleep(_POLL_S)
    process.kill()
    process.wait()
    raise ServiceError("the server of the session does not start", hint=f"See {session.folder / _LOG}.")
