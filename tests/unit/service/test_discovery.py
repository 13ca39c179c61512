"""Where the service of this user is found, and which one a command may use."""

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from coderag import __version__
from coderag.errors import ServiceError
from coderag.service import discovery, runtime_folder
from coderag.service.discovery import ensure_runtime_folder, find_service, read_address, write_address
from coderag.service.environment import compute_digest, compute_fingerprint
from coderag.service.service_address import ServiceAddress
from tests.unit.service.answering import Answering

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="Windows closes the user's folders by itself")


def address_of(answering: Answering, **changes: object) -> ServiceAddress:
    address = ServiceAddress(
        pid=os.getpid(),
        version=__version__,
        http=answering.address,
        mcp="tcp:127.0.0.1:1",
        token=answering.token,
        started="2026-01-01T00:00:00+00:00",
        environment=compute_fingerprint(),
    )
    return replace(address, **changes)  # type: ignore[arg-type]


def test_a_service_that_answers_is_found(answering: Answering) -> None:
    address = address_of(answering)
    write_address(address)
    assert find_service() == address


def test_nothing_is_found_where_no_service_was_started() -> None:
    assert find_service() is None


@pytest.mark.parametrize(
    "changes",
    [{"version": "0.0.1"}, {"environment": "other"}, {"pid": 2**22 + 1}, {"token": "another"}, {"http": "unix:/no"}],
)
def test_a_service_that_cannot_be_used_is_not_found(answering: Answering, changes: dict[str, object]) -> None:
    write_address(address_of(answering, **changes))
    assert find_service() is None


def test_the_token_is_not_told_to_a_program_that_has_got_the_port(answering: Answering) -> None:
    write_address(address_of(answering, token="a-secret-of-the-real-service"))  # a made-up one
    find_service()
    assert b"a-secret-of-the-real-service" not in answering.received


def test_a_damaged_file_is_no_service() -> None:
    (ensure_runtime_folder() / "service.json").write_text("{", encoding="utf-8")
    assert read_address() is None


def test_what_a_newer_version_adds_to_the_file_is_ignored(answering: Answering) -> None:
    address = address_of(answering)
    write_address(address)
    file = ensure_runtime_folder() / "service.json"
    file.write_text(json.dumps({**json.loads(file.read_bytes()), "new": 1}), encoding="utf-8")
    assert read_address() == address


def test_the_file_of_another_process_is_not_removed(answering: Answering) -> None:
    write_address(address_of(answering))
    discovery.remove_address(1)
    assert read_address() is not None


@posix_only
def test_only_this_user_may_read_the_token(answering: Answering) -> None:
    write_address(address_of(answering))
    folder = ensure_runtime_folder()
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "service.json")]
    assert modes == [0o700, 0o600]


@posix_only
def test_a_folder_that_others_may_enter_is_closed() -> None:
    ensure_runtime_folder().chmod(0o777)
    assert stat.S_IMODE(ensure_runtime_folder().stat().st_mode) == 0o700


@posix_only
def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = ensure_runtime_folder()
    folder.rmdir()
    folder.symlink_to(tmp_path, target_is_directory=True)
    with pytest.raises(ServiceError, match="does not belong to this user"):
        ensure_runtime_folder()


@posix_only
def test_sockets_and_folders_of_a_killed_service_are_removed(answering: Answering, tmp_path: Path) -> None:
    folder = tmp_path / "coderag-short"
    folder.mkdir()
    places = [folder / "http.sock", folder / "mcp.sock"]
    for place in places:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(os.path.relpath(place))
    write_address(address_of(answering, http=f"unix:{places[0]}", mcp=f"unix:{places[1]}"))
    discovery.remove_stale()
    assert (folder.exists(), read_address()) == (False, None)


def test_a_file_that_the_address_names_and_is_no_socket_stays(answering: Answering, tmp_path: Path) -> None:
    file = tmp_path / "precious.txt"
    file.write_text("data", encoding="utf-8")
    write_address(address_of(answering, http=f"unix:{file}"))
    discovery.remove_stale()
    assert file.exists()


def test_settings_in_the_environment_make_another_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    before = compute_fingerprint()
    monkeypatch.setenv("CODERAG_SEARCH__TOP_K", "3")
    assert compute_fingerprint() != before


def test_settings_of_the_service_itself_are_no_part_of_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    before = compute_fingerprint()
    monkeypatch.setenv("CODERAG_SERVICE__AUTOSTART", "true")
    assert compute_fingerprint() == before


def test_an_unset_variable_is_not_an_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    before = compute_digest(["MODEL"])
    monkeypatch.setenv("MODEL", "")
    assert compute_digest(["MODEL"]) != before


def test_what_finds_the_service_imports_nothing_slow() -> None:
    script = (
        "import sys, coderag.service.opening\n"
        "slow = {'pydantic', 'numpy', 'httpx', 'rich', 'asyncio', 'yaml', 'llama_index', 'lancedb', 'coderag.app', 'email'}\n"
        "print(sorted(slow & set(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"


@pytest.mark.parametrize("changes", [{"pid": "12"}, {"pid": True}, {"token": None}, {"http": 3}, {"request_s": "9"}])
def test_a_file_whose_values_are_of_other_kinds_is_no_service(answering: Answering, changes: dict[str, object]) -> None:
    write_address(address_of(answering, **changes))
    assert find_service() is None


def test_a_program_that_proves_itself_with_nonsense_is_no_service(replying: Callable[[bytes], Answering]) -> None:
    program = replying("HTTP/1.1 200 OK\r\nx-coderag-proof: é\r\ncontent-length: 0\r\n\r\n".encode("latin-1"))
    write_address(address_of(program))
    assert find_service() is None


@posix_only
def test_a_user_without_a_home_is_not_served_by_what_a_repository_holds(
    answering: Answering, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as for a user whom the system does not know
    monkeypatch.setattr(runtime_folder, "_is_own", lambda _: False)
    monkeypatch.chdir(tmp_path)
    for folder in ("~/.cache/run/coderag", "~/Library/Caches/run/coderag"):
        place = tmp_path / folder
        place.mkdir(parents=True, mode=0o700)
        (place / "service.json").write_text(json.dumps(asdict(address_of(answering))), encoding="utf-8")
    assert read_address() is None
