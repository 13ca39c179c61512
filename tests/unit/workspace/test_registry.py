import json
import logging
import threading
from pathlib import Path

import pytest

from coderag.errors import StoreError
from coderag.workspace import registry as module
from coderag.workspace.registry import Registry, choose_unique_name, get_registry_file, note_repository
from tests.support.workspaces import make_index


@pytest.fixture
def registry(tmp_path):
    return Registry(tmp_path / "data" / "repositories.json")


def folder(tmp_path, name):
    path = tmp_path / name
    path.mkdir(parents=True)
    return path


def test_nothing_is_known_at_first(registry):
    assert registry.read_entries() == []


def test_what_is_noted_is_known_by_its_folder_name(registry, tmp_path):
    root = folder(tmp_path, "shop")
    registry.note(root)
    assert registry.find("shop").root == str(root)


def test_the_last_used_comes_first(registry, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_MIN_NOTE_INTERVAL", module.timedelta(0))
    one, two = folder(tmp_path, "one"), folder(tmp_path, "two")
    for root in (one, two, one):
        registry.note(root)
    assert [entry.name for entry in registry.read_entries()] == ["one", "two"]


def test_a_repository_that_was_noted_a_moment_ago_is_not_written_again(registry, tmp_path):
    root = folder(tmp_path, "shop")
    registry.note(root)
    written = registry._path.stat().st_mtime_ns
    registry.note(root)
    assert registry._path.stat().st_mtime_ns == written


def test_another_folder_for_the_index_is_noted_at_once(registry, tmp_path):
    root = folder(tmp_path, "shop")
    registry.note(root)
    registry.note(root, tmp_path / "elsewhere")
    assert registry.find("shop").index == str(tmp_path / "elsewhere")


def test_repositories_of_one_name_get_different_ones(registry, tmp_path):
    roots = [folder(tmp_path, path) for path in ("a/web", "b/web", "c/a/web", "d/a/web")]
    assert [registry.note(root).name for root in roots] == ["web", "b/web", "a/web", "web-2"]


def test_names_that_differ_in_capitals_alone_are_told_apart():
    assert choose_unique_name(Path("/x/Web"), ["web"]) == "x/Web"


def test_a_name_stays_when_another_repository_of_that_name_comes_and_goes(registry, tmp_path):
    one, two = folder(tmp_path, "a/web"), folder(tmp_path, "b/web")
    registry.note(one)
    registry.note(two)
    registry.forget(str(one))
    assert registry.note(two).name == "b/web"


def test_a_name_may_be_given_in_small_letters(registry, tmp_path):
    registry.note(folder(tmp_path, "Shop"))
    assert registry.find("shop").name == "Shop"


def test_what_is_forgotten_is_not_known(registry, tmp_path):
    root = folder(tmp_path, "shop")
    registry.note(root)
    assert registry.forget(str(root))
    assert not registry.forget(str(root))
    assert registry.read_entries() == []


def test_a_repository_that_is_gone_is_told_as_such(registry, tmp_path):
    root = folder(tmp_path, "shop")
    registry.note(root)
    assert registry.read_entries()[0].is_there
    root.rmdir()
    assert not registry.read_entries()[0].is_there


def test_whether_it_is_indexed_is_read_from_the_index_itself(registry, tmp_path):
    root = folder(tmp_path, "shop")
    registry.note(root)
    assert not registry.read_entries()[0].is_indexed
    make_index(root)
    assert registry.read_entries()[0].is_indexed


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"repositories": [{"name": "x"}]}', '{"repositories": 3}', "\0\0\0"]
)
def test_a_damaged_file_is_moved_aside_with_a_warning(registry, tmp_path, content, caplog):
    registry._path.parent.mkdir()
    registry._path.write_text(content)
    with caplog.at_level(logging.WARNING):
        assert registry.read_entries() == []
    assert "is damaged" in caplog.text
    assert registry._path.with_name("repositories.json.damaged").read_text() == content
    assert registry.note(folder(tmp_path, "shop")).name == "shop"


def test_no_more_than_some_hundred_are_kept_and_those_that_are_gone_go_first(registry, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_ENTRIES", 3)
    roots = [folder(tmp_path, name) for name in ("one", "two", "three")]
    for root in roots:
        registry.note(root)
    roots[2].rmdir()
    registry.note(folder(tmp_path, "four"))
    assert {entry.name for entry in registry.read_entries()} == {"one", "two", "four"}
    registry.note(folder(tmp_path, "five"))
    assert {entry.name for entry in registry.read_entries()} == {"two", "four", "five"}


def test_several_at_once_lose_nothing(registry, tmp_path):
    roots = [folder(tmp_path, f"repo{number}") for number in range(12)]
    threads = [threading.Thread(target=Registry(registry._path).note, args=(root,)) for root in roots]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(registry.read_entries()) == 12


def test_a_file_that_cannot_be_written_is_an_error_of_ours(tmp_path):
    (tmp_path / "data").write_text("a file where the folder should be")
    with pytest.raises(StoreError, match="Cannot write"):
        Registry(tmp_path / "data" / "repositories.json").note(tmp_path)


def test_noting_after_indexing_never_fails(tmp_path, home):
    get_registry_file().parent.parent.mkdir(parents=True)
    get_registry_file().parent.write_text("in the way")
    note_repository(tmp_path)
    get_registry_file().parent.unlink()
    note_repository(tmp_path)
    assert json.loads(get_registry_file().read_text())["repositories"][0]["root"] == str(tmp_path)


def test_the_registry_is_in_the_home_of_the_user(home):
    assert get_registry_file().is_relative_to(home)
