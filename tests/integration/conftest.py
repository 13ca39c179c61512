"""What holds for the tests of whole runs."""

from pathlib import Path

import pytest

from coderag.config.trust import trust


@pytest.fixture(autouse=True)
def trusted(home: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Have this test's user trust all repositories of the tests, so that their settings hold for the command line."""
    trust(tmp_path_factory.getbasetemp())
