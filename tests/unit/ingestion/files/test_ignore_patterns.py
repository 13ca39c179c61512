"""Our patterns against git's own verdicts."""

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from coderag.ingestion.files.ignore import IgnoreRules
from tests.support.ignored_trees import git, ignored_by_git, ignored_by_us, make_repository

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is what we compare with")

DIRECTORIES = ["", "d", "d/d", "x", "d/x", "é"]
WORDS = r"""a b ab A x d é a.c * * ** ** *** ? / / / /d/ [ab] [!a] [^b] [a-c] []a] [a-] [--a] [A-Z] [\]] [a/] [\a-c]
    [[:alpha:]] [[:upper:]] [[:space:]x] [[:foo:]] [[.a] [ ! # - .c \a \* \[ \ **/ /** a**"""
ATOMS = [*WORDS.split(), "", " ", "\\ ", "\t", "\r"]

patterns = st.builds(
    lambda negation, atoms, end: negation + "".join(atoms).replace("\n", "") + end,
    st.sampled_from(["", "", "", "!"]),
    st.lists(st.sampled_from(ATOMS), min_size=1, max_size=5),
    st.sampled_from(["", "", "", "/", " ", "\r"]),
)
ignore_files = st.dictionaries(
    st.sampled_from(DIRECTORIES), st.lists(patterns, min_size=1, max_size=4), min_size=1, max_size=3
)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(files=ignore_files, fold=st.booleans())
@example(files={"": ["d/**", "!d/x/", "!d/x/a"]}, fold=False)
@example(files={"": ["a**/b", "!ad/x/b"], "d": ["/x/**/a", "**/"]}, fold=False)
@example(files={"": ["[A]", "[[:upper:]]b", "\\A", "[A-B].C"]}, fold=True)
@example(files={"": ["\ufeffa", "a\\ ", "a\\  "]}, fold=False)
def test_random_patterns_ignore_what_git_ignores(repository: Path, files: dict[str, list[str]], fold: bool) -> None:
    git(repository, "config", "core.ignoreCase", str(fold).lower())
    for directory, lines in files.items():
        (repository / directory / ".gitignore").write_bytes("\n".join(lines).encode())
    try:
        assert ignored_by_us(repository) == ignored_by_git(repository)
    finally:
        for directory in files:
            (repository / directory / ".gitignore").unlink()


@pytest.mark.parametrize(
    "lines",
    [
        # where pathspec 1.1.1 differs from git
        ["[\\]]"], ["[\\a-c]"], ["[[:alpha:]]"], ["[[:foo:]]"], ["[!b]*[a/]"], ["a\\  "], ["\\*\t"], ["a\\"], ["?"],
        ["[a/]*"], ["a**/b"], ["a**/**/b"], ["x/d**"],
        # corners of git's manual and of its sources
        ["*", "!*/", "!a.c"], ["/*", "!/d", "/d/*", "!/d/x"], ["d/"], ["/d/x"], ["d/x"], ["**/x/b"], ["d/**/a"],
        ["d/**/**/a"], ["x/**"], ["**"], ["**/"], ["!a"], ["/"], ["//a"], ["a//b"], [""], ["#a"], ["\\#a"], ["\\!a"],
        ["!"], ["a/", "d/a/"], ["é"], ["??"], ["a\0b"], ["d//"],
    ],
    ids=repr,
)  # fmt: skip
def test_corner_cases_agree_with_git(repository: Path, lines: list[str]) -> None:
    (repository / ".gitignore").write_bytes("\r\n".join(lines).encode())
    assert ignored_by_us(repository) == ignored_by_git(repository)


def test_many_stars_do_not_take_exponential_time(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*a" * 40 + "b\n")
    rules = IgnoreRules.load_for_root(tmp_path)
    assert rules.find_ignore_reason("a" * 250, is_dir=False) is None
    assert rules.find_ignore_reason("a" * 250 + "b", is_dir=False)
