"""How a command is told which repository it is about."""

from pathlib import Path

import pytest


@pytest.mark.parametrize("option", ["-C", "--repo"])
def test_the_option_is_handed_on(coderag, option) -> None:
    assert coderag("status", option, "there").exit_code == 0
    assert coderag.opened.root == Path("there")
