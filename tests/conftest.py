"""What holds for every test: a private home, a clean environment, a git identity and no network."""

import gc
import os
import socket
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.support.postgres_server"]

# The same examples in every run, so that a change is judged by what it changes; `make fuzz` looks for new ones. Deadlines and
# the check for slow examples measure how busy the machine is; a database would be one more thing that a run leaves behind.
_STEADY = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("gate", derandomize=True, max_examples=50, **_STEADY)
settings.register_profile("fuzz", print_blob=True, max_examples=500, **_STEADY)
settings.load_profile("gate")  # `--hypothesis-profile` comes later, and wins

HOME_VARIABLES = {
    "HOME": "",
    "USERPROFILE": "",
    "APPDATA": "AppData/Roaming",
    "LOCALAPPDATA": "AppData/Local",
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "XDG_RUNTIME_DIR": ".run",
}
"""Variable and the folder, relative to the private home, that it names."""

FIXED_VARIABLES = {
    "GIT_AUTHOR_NAME": "Test",
    "GIT_AUTHOR_EMAIL": "test@example.invalid",
    "GIT_COMMITTER_NAME": "Test",
    "GIT_COMMITTER_EMAIL": "test@example.invalid",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "COLUMNS": "120",
    "NO_COLOR": "1",
}

FOREIGN_PREFIXES = (
    "ANTHROPIC_", "CODERAG_", "GEMINI_", "GIT_", "GOOGLE_", "LANGCHAIN_", "LANGSMITH_", "OLLAMA_", "OPENAI_", "VOYAGE_",
)  # fmt: skip
"""What the developer's shell may carry and no test may see. `GIT_DIR` is set, for example, when tests run in a hook."""

FOREIGN_VARIABLES = ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TERMINAL_WIDTH")


class NetworkRefusedError(RuntimeError):
    """A test reached for the network; only tests marked `integration` may."""


def isolate(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Give the process a private home, a fixed git identity and none of the developer's variables."""
    for name in list(os.environ):
        if name.startswith(FOREIGN_PREFIXES) or name in FOREIGN_VARIABLES:
            monkeypatch.delenv(name)
    for name, folder in HOME_VARIABLES.items():
        monkeypatch.setenv(name, str(home / folder))
    (home / HOME_VARIABLES["XDG_RUNTIME_DIR"]).mkdir(mode=0o700, exist_ok=True)  # else that of the developer is used
    for name, value in FIXED_VARIABLES.items():
        monkeypatch.setenv(name, value)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the collector away from the 900,000 objects of 15,000 tests and their imports, which live until the end.

    A full collection, which closing a workspace asks for, would take 0.6 s instead of 0.1 s.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave property tests out of the coverage: tracing makes them take twice the time, and they run the same lines often."""
    if item.get_closest_marker("hypothesis"):
        item.add_marker(pytest.mark.no_cover)


@pytest.fixture(scope="session", autouse=True)
def _isolated_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Isolate what fixtures of session and module scope do."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        isolate(monkeypatch, tmp_path_factory.mktemp("session-home"))
        yield


@pytest.fixture(autouse=True)
def home(_isolated_session: None, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return this test's own home folder, empty."""
    folder = tmp_path_factory.mktemp("home")
    isolate(monkeypatch, folder)
    return folder


@pytest.fixture(autouse=True)
def _no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection and name look-up but the loopback's."""
    if request.node.get_closest_marker("integration"):
        return
    connect, connect_ex, getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        _refuse_remote(self.family, address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        _refuse_remote(self.family, address)
        return connect_ex(self, address)

    def guarded_getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        _refuse_remote(socket.AF_INET, (host,))
        return getaddrinfo(host, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)


def _refuse_remote(family: int, address: Any) -> None:
    if family not in {socket.AF_INET, socket.AF_INET6} or address[0] is None:
        return
    host = address[0].decode() if isinstance(address[0], bytes) else str(address[0])
    if host not in {"localhost", "::1"} and not host.startswith("127."):
        raise NetworkRefusedError(f"a test tried to reach {host!r}; mark it `integration` or use a fake")
