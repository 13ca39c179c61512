"""Our verdicts against git's own, and what git knows nothing of."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from coderag.ingestion import ignore
from coderag.ingestion.ignore import IgnoreRules, find_repository, repository_at, run_git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is what we compare with")

TREE = """a b ab A .x a.c b.c ] [a] !a #a - xab
    d/ d/a d/b d/a.c d/ab d/d/ d/d/a d/d/b d/d/é d/x/ d/x/a d/x/b/ d/x/b/a d/x/b/ab d/.x
    x/ x/a x/b x/a.c x/d/ x/d/a x/d/b x/A x/[a] x/b.c
    ad/ ad/b ad/x/ ad/x/b D/ D/a é/ é/a é/d/ é/d/b"""
POSIX_ONLY = ["a ", "a b", "a\tb", "d/a ", "a\nb", "a\\", "\\", "d/a\\", "*", "a*b"]
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


def git(directory: Path, *arguments: str, stdin: str = "") -> bytes:
    return subprocess.run(
        ["git", *arguments], cwd=directory, input=os.fsencode(stdin), capture_output=True, check=False
    ).stdout


def make_tree(root: Path, paths: list[str]) -> None:
    for path in paths:
        if path.endswith("/"):
            (root / path).mkdir(parents=True, exist_ok=True)
        else:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).touch()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    make_tree(tmp_path, [*TREE.split(), *(POSIX_ONLY if os.name == "posix" else [])])
    return tmp_path


def every_path(root: Path) -> list[str]:
    return [path.relative_to(root).as_posix() for path in root.rglob("*") if ".git" not in path.relative_to(root).parts]


def ignored_by_git(root: Path) -> set[str]:
    listed = git(root, "check-ignore", "--no-index", "-z", "--stdin", stdin="\0".join(every_path(root)))
    return set(os.fsdecode(listed).split("\0")) - {""}


def ignored_by_us(root: Path) -> set[str]:
    found: set[str] = set()
    pending = [(root, IgnoreRules.for_root(root))]
    while pending:
        directory, rules = pending.pop()
        for path in directory.iterdir():
            if path.name == ".git":
                continue
            if rules.ignored(path.name, path.is_dir()):
                below = path.rglob("*") if path.is_dir() else ()
                found.update(one.relative_to(root).as_posix() for one in (path, *below))
            elif path.is_dir():
                pending.append((path, rules.child(path)))
    return found


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


def test_every_source_of_git_counts_in_its_order(repository: Path, home: Path) -> None:
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "ignore").write_text("*.c\nab\n[[]a]\n")
    (repository / ".git" / "info" / "exclude").write_text("!b.c\nxab\n/d/b\n")
    (repository / ".gitignore").write_text("!a.c\n/d/x\n")
    (repository / "d" / ".gitignore").write_text("a.c\n!b\n")
    ours = ignored_by_us(repository)
    assert ours == ignored_by_git(repository)
    assert {"d/a.c", "x/a.c", "ab", "xab", "d/x/a"} & ours == {"d/a.c", "ab", "xab", "d/x/a"}


@pytest.mark.parametrize("value", ["~/mine", "{home}/mine", "mine"])
def test_configured_excludes_file_replaces_the_default(repository: Path, home: Path, value: str) -> None:
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "ignore").write_text("b\n")
    for directory in (home, repository):
        (directory / "mine").write_text("a\n")
    git(repository, "config", "core.excludesFile", value.format(home=home.as_posix()))
    ours = ignored_by_us(repository)
    assert ours == ignored_by_git(repository)
    assert "a" in ours
    assert "b" not in ours


def test_config_is_read_without_git_as_with_it(repository: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "mine").write_text("AB\n")
    (home / ".gitconfig").write_text('[user]\n\tname = "x"\n[core]\n\texcludesFile = "~/mine" ; comment\n')
    git(repository, "config", "core.ignoreCase", "true")
    with_git = ignored_by_us(repository)
    monkeypatch.setattr(ignore.shutil, "which", lambda name: None)
    assert "ab" in with_git
    assert ignored_by_us(repository) == with_git


def test_global_config_variable_is_honoured_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config").write_text(f"[core]\nexcludesfile = {(tmp_path / 'mine').as_posix()}\n")
    (tmp_path / "mine").write_text("*.log\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    monkeypatch.setattr(ignore.shutil, "which", lambda name: None)
    assert IgnoreRules.for_root(tmp_path).ignored("a.log", is_dir=False)


@pytest.mark.parametrize("executable", ["git", None])
def test_user_without_a_home_has_no_global_excludes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executable: str | None
) -> None:
    def no_home(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(ignore.Path, "expanduser", no_home)
    monkeypatch.setattr(ignore.shutil, "which", lambda name: executable)
    (tmp_path / ".gitignore").write_text("a\n")
    assert IgnoreRules.for_root(tmp_path).ignored("a", is_dir=False)


def test_reason_names_the_file_and_the_pattern(tmp_path: Path) -> None:
    make_tree(tmp_path, ["src/"])
    (tmp_path / "src" / ".gitignore").write_text("*.log\nété*\n", encoding="utf-8")
    rules = IgnoreRules.for_root(tmp_path, ["*.tmp"]).child(tmp_path / "src")
    assert rules.ignored("a.log", is_dir=False) == "ignored by src/.gitignore: *.log"
    assert rules.ignored("été.py", is_dir=False) == "ignored by src/.gitignore: été*"
    assert rules.ignored("a.tmp", is_dir=False) == "excluded by the settings: *.tmp"
    assert rules.ignored("a.py", is_dir=False) is None


def test_precedence_of_coderagignore_and_settings(tmp_path: Path) -> None:
    make_tree(tmp_path, ["d/"])
    (tmp_path / ".gitignore").write_text("*.a\n*.b\n")
    (tmp_path / ".coderagignore").write_text("!*.a\n*.c\n*.d\n")
    (tmp_path / "d" / ".gitignore").write_text("!*.c\n!*.e\n")
    rules = IgnoreRules.for_root(tmp_path, ["*.e", "!*.d"])
    inner = rules.child(tmp_path / "d")
    assert [name for name in ("1.a", "1.b", "1.c", "1.d", "1.e") if rules.ignored(name, is_dir=False)] == [
        "1.b",
        "1.c",
        "1.e",
    ]
    assert [name for name in ("1.a", "1.b", "1.c", "1.d", "1.e") if inner.ignored(name, is_dir=False)] == ["1.b", "1.e"]


def test_tracked_file_is_ignored_by_our_patterns_only(tmp_path: Path) -> None:
    make_tree(tmp_path, ["d/"])
    (tmp_path / ".coderagignore").write_text("*.c\n")
    (tmp_path / "d" / ".gitignore").write_text("*.b\n*.c\n")
    rules = IgnoreRules.for_root(tmp_path).child(tmp_path / "d")
    assert rules.ignored("1.b", is_dir=False, tracked=True) is None
    assert rules.ignored("1.c", is_dir=False, tracked=True) == "ignored by .coderagignore: *.c"


def test_rules_do_not_change_when_a_directory_is_entered(tmp_path: Path) -> None:
    make_tree(tmp_path, ["d/"])
    (tmp_path / "d" / ".gitignore").write_text("a\n")
    rules = IgnoreRules.for_root(tmp_path)
    assert rules.child(tmp_path / "d").ignored("a", is_dir=False)
    assert rules.ignored("a", is_dir=False) is None


def test_directories_without_patterns_of_their_own_share_rules(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log\n/build\nb/c/d\n")
    rules = IgnoreRules.for_root(tmp_path)
    plain = rules.child(tmp_path / "a", ())
    assert plain.child(tmp_path / "a" / "b", ()) is plain
    assert rules.child(tmp_path / "b", ()) is not plain


def test_rules_of_an_enclosing_repository_hold_below_its_top(repository: Path) -> None:
    (repository / ".gitignore").write_text("/d/x/a\nab\n")
    (repository / "d" / ".coderagignore").write_text("b\n")
    rules = IgnoreRules.for_root(repository / "d" / "x")
    assert rules.ignored("a", is_dir=False) == "ignored by ../../.gitignore: /d/x/a"
    assert rules.ignored("b", is_dir=True) == "ignored by ../.coderagignore: b"
    assert rules.repository == find_repository(repository)


def test_root_that_its_repository_ignores_is_judged_by_itself(repository: Path) -> None:
    (repository / ".gitignore").write_text("*\n")
    (repository / "d" / ".gitignore").write_text("a\n")
    rules = IgnoreRules.for_root(repository / "d")
    assert rules.repository is None
    assert [name for name in ("a", "b") if rules.ignored(name, is_dir=False)] == ["a"]


def test_ignore_file_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("a\n")
    (tmp_path / ".gitignore").symlink_to("elsewhere")
    assert IgnoreRules.for_root(tmp_path).ignored("a", is_dir=False) is None


def test_empty_or_damaged_git_directory_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert repository_at(tmp_path) is None
    (tmp_path / ".git").rmdir()
    (tmp_path / ".git").write_text("gitdir: nowhere\0\n")
    assert repository_at(tmp_path) is None


def test_many_stars_do_not_take_exponential_time(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*a" * 40 + "b\n")
    rules = IgnoreRules.for_root(tmp_path)
    assert rules.ignored("a" * 250, is_dir=False) is None
    assert rules.ignored("a" * 250 + "b", is_dir=False)


def test_git_runs_nothing_that_a_repository_names(repository: Path) -> None:
    script = repository / "monitor.sh"
    script.write_text(f"#!/bin/sh\ntouch {repository}/ran\n")
    script.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(script))
    assert run_git(repository, "status", "--porcelain") is not None
    assert not (repository / "ran").exists()
    git(repository, "status")
    assert (repository / "ran").exists(), "the trap itself does not work"


def test_git_inside_the_repository_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ignore.shutil, "which", lambda name: str(tmp_path / "git"))
    (tmp_path / "git").write_text("#!/bin/sh\necho taken\n")
    (tmp_path / "git").chmod(0o755)
    assert run_git(tmp_path, "version") is None


def test_git_that_fails_or_cannot_run_is_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_git(tmp_path, "no-such-command") is None
    monkeypatch.setattr(ignore.shutil, "which", lambda name: "/nonexistent/git")
    assert run_git(tmp_path, "version") is None


def test_git_of_a_hook_is_not_mistaken_for_this_repository(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path_factory.mktemp("other")
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    printed = run_git(repository, "rev-parse", "--absolute-git-dir")
    assert printed is not None
    assert Path(os.fsdecode(printed).strip()) == (repository / ".git").resolve()
