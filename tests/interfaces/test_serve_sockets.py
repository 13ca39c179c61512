"""The sockets that a service listens on, and what is left of them."""

import os
import socket
import sys
from pathlib import Path

import pytest

from coderag.interfaces.serve import web_listener
from coderag.interfaces.serve.sockets import open_local_socket

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a service has no Unix sockets there")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder whose path is short enough, wherever the tests run."""
    monkeypatch.chdir(tmp_path)
    return Path()


def test_what_a_service_left_that_was_killed_before_it_was_known_does_not_hinder_the_next(folder: Path) -> None:
    open_local_socket(folder, "http.sock", unix=True).socket.close()  # its file stays
    after = open_local_socket(folder, "http.sock", unix=True)
    with after.socket, socket.socket(socket.AF_UNIX) as client:
        after.socket.listen()
        client.connect("http.sock")


def test_a_file_that_is_no_socket_is_not_removed_to_make_place(folder: Path) -> None:
    Path("http.sock").write_text("mine", encoding="utf-8")
    with pytest.raises(Exception, match="cannot be opened"):
        open_local_socket(folder, "http.sock", unix=True)
    assert Path("http.sock").read_text(encoding="utf-8") == "mine"


def test_a_socket_takes_its_own_file_with_it_and_not_that_of_another_service(folder: Path) -> None:
    first = open_local_socket(folder, "http.sock", unix=True)
    Path("http.sock").unlink()  # as who cleans folders up does
    second = open_local_socket(folder, "http.sock", unix=True)
    os.utime("http.sock", ns=(1, 1))  # the systems' clocks are coarse, and numbers of files are given again
    first.remove()
    assert Path("http.sock").is_socket()
    second.socket.close()


def test_a_socket_whose_file_is_gone_knows_that_nobody_reaches_it(folder: Path) -> None:
    opened = open_local_socket(folder, "http.sock", unix=True)
    assert opened.is_reachable
    Path("http.sock").unlink()
    assert not opened.is_reachable
    opened.remove()


def test_the_web_interface_takes_its_last_port_again_and_another_one_if_that_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(web_listener, "ensure_runtime_folder", lambda: tmp_path)
    monkeypatch.setattr(web_listener, "DEFAULT_WEB_PORT", 0)
    first = web_listener.open_web_socket(None)
    port = first.getsockname()[1]
    other = web_listener.open_web_socket(None)  # while the first one is open
    assert other.getsockname()[1] != port
    other.close()
    first.close()
    (tmp_path / "web-port").write_text(str(port), encoding="ascii")
    again = web_listener.open_web_socket(None)
    assert again.getsockname()[1] == port
    again.close()
    for damaged in ("", "none", "0", "99999999"):
        (tmp_path / "web-port").write_text(damaged, encoding="ascii")
        web_listener.open_web_socket(None).close()
