"""The built files of the web interface are those of its source."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.web.build import check_sizes, find_differences, read_stored

CHECKOUT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed, so the pages cannot be built again")
def test_the_stored_pages_are_what_their_source_builds() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.web.build", "--check"], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-4_000:]


def test_the_pages_are_small() -> None:
    assert check_sizes() == []


def test_a_difference_is_named() -> None:
    stored = read_stored()
    changed = {**stored, "index.html": b"other", "new.js": b""}
    assert find_differences(changed, stored) == ["index.html", "new.js"]


def test_pages_load_nothing_from_other_hosts() -> None:
    page = read_stored()["index.html"].decode()
    assert "http:" not in page
    assert "https:" not in page
    assert "<script>" not in page
