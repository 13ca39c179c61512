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
