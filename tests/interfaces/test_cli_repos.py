"""``coderag repos``."""

import json
import shutil
from pathlib import Path

import pytest

from coderag.workspace.registry import Registry
from tests.support.workspaces import make_index


@pytest.fixture
def known(tmp_path: Path) -> list[Path]:
    """Two repositories that are known, the second is indexed."""
    roots = [tmp_path / "shop", tmp_path / "work" / "web"]
    for root in roots:
        root.mkdir(parents=True)
        Registry().note(root)
    make_index(roots[1])
    return roots


def test_nothing_known_is_no_result_and_says_how_to_begin(coderag) -> None:
    result = coderag("repos")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "coderag index" in result.stderr


def test_each_is_a_line_with_its_state_and_folder(coderag, known) -> None:
    lines = coderag("repos").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["web", "shop"]
    assert " indexed " in lines[0]
    assert lines[0].endswith(str(known[1]))
    assert " not indexed " in lines[1]


def test_one_whose_folder_is_gone_is_shown_as_such(coderag, known) -> None:
    shutil.rmtree(known[0])
    assert " gone " in coderag("repos").stdout.splitlines()[1]


def test_json_has_the_same_facts(coderag, known) -> None:
    listed = json.loads(coderag("repos", "--json").stdout)["repositories"]
    assert [(one["name"], one["root"], one["indexed"], one["there"]) for one in listed] == [
        ("web", str(known[1]), True, True),
        ("shop", str(known[0]), False, True),
    ]


@pytest.mark.parametrize("by", ["name", "folder"])
def test_one_can_be_forgotten(coderag, known, by) -> None:
    result = coderag("repos", "--forget", "shop" if by == "name" else str(known[0]))
    assert result.exit_code == 0
    assert "forgot shop" in result.stdout
    assert [entry.name for entry in Registry().read_entries()] == ["web"]


def test_forgetting_leaves_the_index_where_it_is(coderag, known) -> None:
    coderag("repos", "--forget", "web", "--json")
    assert (known[1] / ".coderag" / "v1" / "CURRENT").is_file()


def test_an_unknown_name_is_an_error_with_what_to_do(coderag, known) -> None:
    result = coderag("repos", "--forget", "nothing")
    assert result.exit_code == 2
    assert "nothing" in result.stderr
    assert "coderag repos" in result.stderr
