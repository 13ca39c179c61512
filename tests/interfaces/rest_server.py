"""The REST interface in this process: over a real repository, and over one that does what a test wants."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from starlette.testclient import TestClient

API = "/api/v1"


class RestClient:
    """Asks an app about one repository; a fault of the server is a reply as it is for others."""

    def __init__(self, app: Any, root: Path | str) -> None:
        self.http = TestClient(app, raise_server_exceptions=False)
        self.root = str(root)

    def post(self, path: str, /, **body: Any) -> Any:
        """Post a body about the repository."""
        return self.http.post(API + path, json={"root": self.root, **body})

    def result(self, path: str, /, **body: Any) -> Any:
        """Post a body, and return the reply to it, which must be a success."""
        reply = self.post(path, **body)
        assert reply.status_code in {200, 202}, reply.text
        return reply.json()

    def send(self, path: str, content: bytes, content_type: str = "application/json") -> Any:
        """Post bytes as they are."""
        return self.http.post(API + path, content=content, headers={"content-type": content_type})


class FakeWorkspace:
    """A workspace with one repository, whose engine is given."""

    def __init__(self, engine: Any = None) -> None:
        self.engine = engine
        self.uses = 0
        self.listed: list[Any] = []

    def get_place(self, root: str) -> str:
        return root

    def hide_folders(self, error: Exception) -> None:
        pass

    def open_repository(self, root: str) -> "FakeWorkspace":
        return self

    @contextmanager
    def keep_open(self) -> Iterator[SimpleNamespace]:
        self.uses += 1
        try:
            yield SimpleNamespace(engine=self.engine, root=Path("/shop"), place="/shop", name="shop", index=self.index)
        finally:
            self.uses -= 1

    def index(self, *, full: bool) -> Any:
        return self.listed[0]

    def list_jobs(self) -> list[Any]:
        return self.listed

    def find_job(self, job_id: str) -> Any:
        return next((job for job in self.listed if job.id == job_id), None)

    def list_repositories(self) -> list[Any]:
        return []


def events_of(text: str) -> list[tuple[str, Any]]:
    """Return server-sent events as their names and data; comments are left out."""
    events = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            events.append((lines["event"], json.loads(lines["data"])))
    return events
