import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coderag.system.atomic_write import PRIVATE_MODE, atomic_write, create_private

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def pieces_until_the_disk_is_full() -> Iterator[bytes]:
    yield b"new"
    raise OSError("no space left on device")


def test_a_file_has_every_byte_that_was_given(tmp_path: Path) -> None:
    size = atomic_write(tmp_path / "file", [b"one\n", b"\r\n\x00\xff"])
    assert (size, (tmp_path / "file").read_bytes()) == (8, b"one\n\r\n\x00\xff")


def test_a_file_that_cannot_be_written_to_its_end_is_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match="no space"):
        atomic_write(path, pieces_until_the_disk_is_full())
    assert path.read_bytes() == b"old"


def test_nothing_is_left_beside_a_file_that_could_not_be_written(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no space"):
        atomic_write(tmp_path / "file", pieces_until_the_disk_is_full())
    assert not list(tmp_path.iterdir())


@posix_only
def test_others_cannot_read_a_private_file_while_it_is_written(tmp_path: Path) -> None:
    seen: list[int] = []

    def pieces() -> Iterator[bytes]:
        seen.extend(mode_of(path) for path in tmp_path.iterdir())
        yield b"secret"

    atomic_write(tmp_path / "file", pieces(), permissions=PRIVATE_MODE)
    assert [*seen, mode_of(tmp_path / "file")] == [PRIVATE_MODE, PRIVATE_MODE]


@posix_only
def test_a_file_gets_the_permissions_that_are_asked_for_whatever_the_umask(tmp_path: Path) -> None:
    atomic_write(tmp_path / "file", [b"shared"], permissions=0o666)
    assert mode_of(tmp_path / "file") == 0o666


def test_a_private_file_that_is_there_is_kept(tmp_path: Path) -> None:
    create_private(tmp_path / "key", b"first")
    create_private(tmp_path / "key", b"second")
    assert (tmp_path / "key").read_bytes() == b"first"


def test_a_private_file_is_made_where_there_are_no_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError("the file system has no links")

    monkeypatch.setattr(os, "link", no_links)
    create_private(tmp_path / "key", b"only")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"only"]
