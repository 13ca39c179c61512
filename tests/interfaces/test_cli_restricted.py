"""What is not used of an untrusted repository is told, but not by each of ten commands in a row."""

import os
import time
from pathlib import Path

import pytest

from coderag.config.user_folders import find_cache_folder
from coderag.interfaces.cli.restriction_warning import warn_of_restrictions

LEFT_OUT = [("llm.provider", ".coderag.yaml, line 2")]


@pytest.fixture
def warned(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    def warned(left_out=LEFT_OUT, root: Path = tmp_path) -> bool:
        caplog.clear()
        warn_of_restrictions(root, left_out)
        return "ignored" in caplog.text

    return warned


def test_the_same_is_told_once(warned) -> None:
    assert [warned(), warned(), warned()] == [True, False, False]


def test_nothing_left_out_is_nothing_to_tell(warned) -> None:
    assert not warned([])


def test_something_else_is_told_at_once(warned, tmp_path) -> None:
    assert warned()
    assert warned([*LEFT_OUT, ("storage.directory", ".coderag.yaml, line 5")])
    (tmp_path / "other").mkdir()
    assert warned(root=tmp_path / "other")


@pytest.mark.parametrize("hours", [-2, 2])
def test_it_is_told_again_later_and_when_the_clock_was_wrong(warned, hours) -> None:
    warned()
    (note,) = (find_cache_folder() / "told").iterdir()
    then = time.time() + hours * 3600
    os.utime(note, (then, then))
    assert warned()
    assert not warned()


def test_what_cannot_be_noted_is_told_each_time(warned) -> None:
    find_cache_folder().parent.mkdir(parents=True, exist_ok=True)
    find_cache_folder().write_text("a file in the way")
    assert [warned(), warned()] == [True, True]
