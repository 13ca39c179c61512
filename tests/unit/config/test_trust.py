"""Marks of trust: kept with the user, believed only if nobody else can have written them."""

import json
import logging
import os

import pytest

from coderag.config.trust import (
    find_trust_file,
    find_trusted_ancestor,
    is_trusted,
    read_trusted_folders,
    revoke_trust,
    trust,
)
from coderag.errors import ConfigurationError, IngestionError

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX permissions and links")


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "work" / "shop"
    folder.mkdir(parents=True)
    return folder


def test_nothing_is_trusted_at_first(root) -> None:
    assert not is_trusted(root)
    assert read_trusted_folders() == []


def test_a_mark_covers_the_folder_and_what_is_below(root) -> None:
    assert trust(root.parent)
    assert is_trusted(root.parent)
    assert is_trusted(root / "vendored" / "not there yet")
    assert not is_trusted(root.parent.parent)
    assert not is_trusted(root.parent.with_name("workshop"))


def test_marking_twice_changes_nothing(root) -> None:
    trust(root)
    written = find_trust_file().read_bytes()
    assert not trust(root)
    assert find_trust_file().read_bytes() == written


def test_a_removed_mark_is_gone_and_a_wider_one_still_covers(root) -> None:
    trust(root)
    trust(root.parent)
    assert revoke_trust(root)
    assert find_trusted_ancestor(root) == root.parent.resolve()
    assert revoke_trust(root.parent)
    assert not is_trusted(root)
    assert not revoke_trust(root)


@posix
def test_a_link_into_a_trusted_folder_is_trusted_and_one_out_of_it_is_not(root, tmp_path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    trust(root)
    (tmp_path / "in").symlink_to(root)
    (root / "out").symlink_to(elsewhere)
    assert is_trusted(tmp_path / "in")
    assert not is_trusted(root / "out")


@posix
def test_only_the_user_may_read_the_marks(root) -> None:
    trust(root)
    assert find_trust_file().stat().st_mode & 0o777 == 0o600


@posix
def test_marks_that_others_may_write_are_not_believed(root, caplog) -> None:
    trust(root)
    find_trust_file().chmod(0o666)
    assert not is_trusted(root)
    assert "others can write it" in caplog.text


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"version": 2, "folders": []}', '{"version": 1, "folders": ["relative"]}', "\0\xff"]
)
def test_a_damaged_file_trusts_nothing_and_warns(root, caplog, content) -> None:
    trust(root)
    find_trust_file().write_text(content)
    with caplog.at_level(logging.WARNING):
        assert not is_trusted(root)
    assert str(find_trust_file()) in caplog.text


def test_a_damaged_file_is_put_aside_by_the_next_mark(root) -> None:
    trust(root)
    find_trust_file().write_text("{broken")
    assert trust(root)
    assert is_trusted(root)
    assert find_trust_file().with_suffix(".broken.json").read_text() == "{broken"


def test_the_home_folder_and_the_root_of_a_file_system_are_too_wide(home, root) -> None:
    for folder in (home, type(root)(root.anchor)):
        with pytest.raises(ConfigurationError, match="too wide"):
            trust(folder)
    assert read_trusted_folders() == []


def test_a_folder_that_is_not_there_cannot_be_trusted(root) -> None:
    with pytest.raises(IngestionError, match="no such directory"):
        trust(root / "missing")


def test_marks_of_several_folders_are_kept(root, tmp_path) -> None:
    trust(root)
    trust(tmp_path)
    assert json.loads(find_trust_file().read_text())["folders"] == sorted([str(root), str(tmp_path)])
