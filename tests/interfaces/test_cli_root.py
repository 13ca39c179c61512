"""How a command is told which repository it is about."""

from pathlib import Path

import pytest


@pytest.mark.parametrize("option", ["-C", "--repo"])
def test_the_option_is_handed_on(coderag, option) -> None:
    assert coderag("status", option, "there").exit_code == 0
    assert coderag.opened.root == Path("there")


@pytest.mark.parametrize("command", ["index", "status"])
def test_the_folder_may_stand_without_the_option_but_not_beside_it(coderag, command) -> None:
    assert coderag(command, "there").exit_code == 0
    assert coderag.opened.root == Path("there")
    twice = coderag(command, "there", "--repo", "here")
    assert twice.exit_code == 2
    assert "name the repository once" in twice.stderr


def test_pages_of_a_missing_folder_are_refused_before_a_service_starts(coderag, tmp_path: Path) -> None:
    refused = coderag("web", "-C", str(tmp_path / "none"))
    assert refused.exit_code != 0
    assert "no such directory" in refused.stderr
