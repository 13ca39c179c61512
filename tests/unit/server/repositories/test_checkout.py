"""Checkouts over any sequence of commits, cut off anywhere: in the end they have exactly the files of the commit."""

import tempfile
from pathlib import Path
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from coderag.server.repositories.checkout import Checkout
from coderag.server.repositories.git_runner import GitRunner
from tests.support.git_origins import GitOrigin, read_files

_NAMES = st.sampled_from(["a", "b", "a/a", "a/b", "a/b/c", "b/a", "b/a/a", "c d/é", "-x", ".coderag/x", "a/.coderag/x"])
_TREES = st.dictionaries(_NAMES, st.sampled_from(["", "1\n", "2\r\n", "3" * 5000]), min_size=1, max_size=6).map(
    lambda files: {
        name: text for name, text in files.items() if not any(other.startswith(name + "/") for other in files)
    }
)


class _CutOffError(Exception):
    pass


def cut_off_at(count):
    """Let the n-th move of a file fail."""
    replace, calls = Path.replace, []

    def fail(self, target):
        calls.append(self)
        if len(calls) == count:
            raise _CutOffError
        return replace(self, target)

    return patch.object(Path, "replace", fail)


@given(st.lists(st.tuples(_TREES, st.none() | st.integers(1, 8)), min_size=1, max_size=4))
@settings(max_examples=15)
def test_a_checkout_follows_any_commits_through_any_interruption(steps):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        origin = GitOrigin(folder, "mirror.git")
        checkout = Checkout(folder, origin.bare, 1_000_000)
        index = folder / "checkout" / ".coderag" / "index"
        for files, cut in steps:
            commit = origin.replace_all(dict(files))
            if cut is not None:
                try:
                    with cut_off_at(cut):
                        checkout.update(commit, GitRunner())
                except _CutOffError:
                    assert checkout.commit != commit
                    continue
            checkout.update(commit, GitRunner())
            assert checkout.commit == commit
            expected = {name: text.encode() for name, text in files.items() if not name.startswith(".coderag/")}
            assert read_files(folder / "checkout") == expected
            index.parent.mkdir(exist_ok=True)
            assert not index.parent.joinpath("x").exists()
            index.write_text("index")
        commit = origin.replace_all({"end": "end\n"})
        checkout.update(commit, GitRunner())
        assert read_files(folder / "checkout") == {"end": b"end\n"}
        assert not (folder / "updating").exists()
        if index.parent.exists():
            assert index.read_text() == "index"
