"""The app of an identity world, served over HTTP on the loopback."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp


def bind_free_port() -> socket.socket:
    """Bind a free port of the loopback, so that its address is known before an app is built."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    return listener


@contextmanager
def serve_app(app: ASGIApp, listener: socket.socket) -> Iterator[str]:
    """Serve an app on a bound socket, and return its address."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    deadline = time.monotonic() + 30
    while not server.started:
        assert time.monotonic() < deadline, "the server does not start"
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
