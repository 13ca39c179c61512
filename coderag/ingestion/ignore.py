"""Which paths git and ``.coderagignore`` files leave out.

A pattern becomes a sequence of segments, one for each name of a path, and a directory's `IgnoreRules` are *threads*:
patterns together with the segment that is to be matched next. Entering a directory moves every thread on by one name
and drops those that cannot match any more. So whole paths are never matched again, most directories of a repository
share one object, and a name that no pattern can match costs well under a microsecond.

Not built on pathspec: its patterns differ from git's (classes, escapes, trailing blanks, ``a**/b``, bytes; the tests
hold the cases), and it matches whole paths against every pattern.

Source: gitignore(5); ``dir.c`` and ``wildmatch.c`` of git. Like git, names and patterns are compared as bytes, here as
one Latin-1 character for each.
"""

import codecs
import logging
import os
import re
import shutil
import string
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from coderag.ingestion.source import read_regular

_logger = logging.getLogger(__name__)

IGNORE_FILES = (".gitignore", ".coderagignore")
"""Read in every directory; of two patterns in one directory, that of the latter file wins."""

MARKERS = frozenset((".git", *IGNORE_FILES))
"""The names in a directory that change the rules below it."""

_LARGEST_IGNORE_FILE = 1 << 20
_GIT_TIMEOUT_S = 120
_GIT_LOCATION = re.compile("GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|PREFIX|NAMESPACE|OBJECT_DIRECTORY)")

# ---- patterns ------------------------------------------------------------------------------------

_POSIX_CLASSES = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, [*range(32), 127])),
    "digit": string.digits,
    "graph": "".join(map(chr, range(33, 127))),
    "lower": string.ascii_lowercase,
    "print": "".join(map(chr, range(32, 127))),
    "punct": string.punctuation,
    "space": string.whitespace,
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}
_NAME_CHARACTERS = frozenset(map(chr, range(1, 256))) - {"/"}
_STAR, _ANY, _SLASH = "*", ".", "/"  # tokens; any other one is a regular expression for one character
_NEVER = "(?!)"
_WITHOUT_TRAILING_SPACES = re.compile(r"(?: *(?:\\.?|[^ \\]))*", re.DOTALL)
_GLUED_STARS = re.compile(r"([^*?\[\\]*[^*?\[\\/])\*\*+(?:/(.*))?", re.DOTALL)


class _Segment(NamedTuple):
    """What a name must match: a literal ``name``, a ``suffix`` after a star, a ``regex``; or ``any`` names (``**``)."""

    kind: str
    text: str = ""

    def matches(self, name: str) -> bool:
        if self.kind == "name":
            return name == self.text
        if self.kind == "suffix":
            return name.endswith(self.text)
        return self.kind == "any" or _full_match(self.text)(name) is not None


_ANY_NAMES = _Segment("any")
_Path = tuple[_Segment, ...]


@lru_cache(4096)
def _full_match(expression: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile(expression, re.DOTALL).fullmatch


@dataclass(frozen=True, slots=True, eq=False)
class _Rule:
    """One pattern.

    Attributes:
        reason: What to tell about a path that it ignores.
        own: Not git's: holds for tracked files too.
        rank: Later ranks win over earlier ones, whatever the depth of their files.
        paths: The pattern's segments; more than one for the few patterns that stand for several.
    """

    reason: str
    own: bool
    rank: int
    negated: bool
    directories_only: bool
    paths: tuple[_Path, ...]


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where patterns come from: how to name it, and how its rules rank."""

    label: str
    own: bool = False
    rank: int = 1


def _parse_file(data: bytes, origin: _Origin, *, fold: bool) -> Iterator[_Rule]:
    """Yield the rules in an ignore file's lines, in order."""
    for raw in data.removeprefix(codecs.BOM_UTF8).split(b"\n"):
        if raw and not raw.startswith(b"#"):
            line = raw.removesuffix(b"\r").partition(b"\0")[0].decode("latin-1")
            blank_free = _WITHOUT_TRAILING_SPACES.match(line)
            rule = _parse_line(blank_free.group() if blank_free else "", origin, fold=fold)
            if rule.paths:
                yield rule


def _parse_line(line: str, origin: _Origin, *, fold: bool) -> _Rule:
    negated = line.startswith("!")
    pattern = line[negated:]
    body = pattern.removesuffix("/")
    if "/" in body:
        paths = tuple(filter(None, (_anchored(one, fold=fold) for one in _unglued(body.removeprefix("/")))))
    else:
        paths = tuple(filter(None, (_anywhere(body, fold=fold),)))
    text = line.encode("latin-1").decode("utf-8", "backslashreplace")
    return _Rule(f"{origin.label}: {text}", origin.own, origin.rank, negated, body != pattern, paths)


def _unglued(body: str) -> Iterator[str]:
    """Yield patterns that together match what git does for ``a**/b``, against its manual: ``ab`` and ``a*/**/b``.

    Git cuts the literal beginning off before it looks at the rest, and ``**/b`` is special (``match_pathname``).
    """
    glued = _GLUED_STARS.fullmatch(body)
    if not glued:
        yield body
        return
    start, rest = glued.groups()
    if rest is None:
        yield from (f"{start}*", f"{start}*/**")
        return
    yield f"{start}*/**/{rest}"
    yield from _unglued(start + rest) if rest.startswith("**") else (start + rest,)


def _anywhere(body: str, *, fold: bool) -> _Path:
    """Return the segments of a pattern without a slash: it matches a name at any depth."""
    tokens = _tokens(body, fold=fold)
    return (_ANY_NAMES, _segment(tokens)) if tokens else ()


def _anchored(body: str, *, fold: bool) -> _Path:
    """Return the segments of a pattern with a slash, or none if it can never match."""
    path: list[_Segment] = []
    name: list[str] = []
    for token in [*_tokens(body, fold=fold), _SLASH]:
        if token != _SLASH:
            name.append(token)
            continue
        if not name:  # "a//b": there is no empty name
            return ()
        segment = _ANY_NAMES if len(name) > 1 and set(name) == {_STAR} else _segment(name)
        if segment is not _ANY_NAMES or path[-1:] != [segment]:
            path.append(segment)
        name = []
    return tuple(path)


def _segment(tokens: Sequence[str]) -> _Segment:
    if not any(map(_is_wild, tokens)):
        return _Segment("name", "".join(token[-1] for token in tokens))
    if tokens[0] == _STAR and not any(map(_is_wild, tokens[1:])):
        return _Segment("suffix", "".join(token[-1] for token in tokens[1:]))
    chunks = [""]
    for token in tokens:
        if token == _STAR:
            chunks.append("")
        else:
            chunks[-1] += token
    if len(chunks) == 1:
        return _Segment("regex", chunks[0])
    # The leftmost place for what follows a star is always right; so no choice is kept, and time stays polynomial.
    middle = "".join(f"(?>.*?{chunk})" for chunk in chunks[1:-1] if chunk)
    return _Segment("regex", f"{chunks[0]}{middle}.*{chunks[-1]}")


def _is_wild(token: str) -> bool:
    return token in (_STAR, _ANY) or token.startswith(("[", "("))


def _tokens(body: str, *, fold: bool) -> list[str]:
    """Cut a pattern into tokens; none if it is malformed and so matches nothing. Folding lowers what is not escaped."""
    tokens, position = [], 0
    try:
        while position < len(body):
            char = body[position]
            if char == "[":
                token, position = _bracket(body, position + 1, fold=fold)
            elif char == "\\":
                position += 1
                token = re.escape(body[position])
            else:
                token = {"*": _STAR, "?": _ANY}.get(char) or re.escape(_lower(char) if fold else char)
            tokens.append(token)
            position += 1
    except (LookupError, ValueError):  # it ends inside an escape or a class, or the class is unknown
        return []
    return tokens


def _bracket(body: str, start: int, *, fold: bool) -> tuple[str, int]:
    """Return a class's regular expression and the place of its closing bracket (``dowild``, case ``[``).

    Raises:
        LookupError, ValueError: The class is malformed.
    """
    negated = body[start] in "!^"
    position = start + negated
    members: set[str] = set()
    previous = ""  # what a range may begin with
    while True:
        char = body[position]
        if char == "-" and previous and body[position + 1] != "]":
            position += 1 + (body[position + 1] == "\\")
            members.update(_spread(map(chr, range(ord(previous), ord(body[position]) + 1)), fold=fold))
            previous = ""
        elif (
            body.startswith("[:", position)
            and body[(end := body.index("]", position + 2)) - 1] == ":"
            and end > position + 2
        ):
            members.update(_spread(_POSIX_CLASSES[body[position + 2 : end - 1]], fold=fold))
            position, previous = end, ""
        else:
            position += char == "\\"
            previous = body[position]
            members.add(previous)
        position += 1
        if body[position] == "]":
            return _class(_NAME_CHARACTERS - members if negated else _NAME_CHARACTERS & members), position


def _spread(characters: Iterable[str], *, fold: bool) -> Iterable[str]:
    """Return characters and, for folding, their small letters: names are compared in small letters then."""
    return {form for char in characters for form in (char, _lower(char))} if fold else characters


def _class(members: Collection[str]) -> str:
    return f"[{''.join(map(re.escape, sorted(members)))}]" if members else _NEVER


_TO_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def _lower(text: str) -> str:
    """Lower ASCII letters only, as git does."""
    return text.translate(_TO_LOWER)


# ---- rules ---------------------------------------------------------------------------------------


class _Thread(NamedTuple):
    """A rule with the segment of one of its paths that the next name is to match."""

    rule: _Rule
    path: int
    position: int

    @property
    def segment(self) -> _Segment:
        return self.rule.paths[self.path][self.position]

    @property
    def is_last(self) -> bool:
        return self.position == len(self.rule.paths[self.path]) - 1

    def unfolded(self) -> Iterator["_Thread"]:
        """Yield this thread, and the next one if it stands at ``**``, which may also match no name at all."""
        yield self
        if self.segment is _ANY_NAMES and not self.is_last:
            yield _Thread(self.rule, self.path, self.position + 1)

    def after(self, name: str) -> Iterator["_Thread"]:
        """Yield what is to be matched below a directory of that name."""
        if self.segment is _ANY_NAMES:
            yield from self.unfolded()
        elif not self.is_last and self.segment.matches(name):
            yield from _Thread(self.rule, self.path, self.position + 1).unfolded()


class _Filter:
    """Tells names that none of some segments can match, without trying them one by one."""

    def __init__(self, segments: Collection[_Segment]) -> None:
        texts = {kind: {one.text for one in segments if one.kind == kind} for kind in ("name", "suffix", "regex")}
        self._names = frozenset(texts["name"])
        self._suffixes = tuple(texts["suffix"])
        self._match = _full_match("|".join(sorted(texts["regex"]))) if texts["regex"] else None
        self._everything = any(one.kind == "any" for one in segments)

    def may_match(self, name: str) -> bool:
        if name in self._names or self._everything or name.endswith(self._suffixes):
            return True
        return self._match is not None and self._match(name) is not None


@dataclass(frozen=True, slots=True)
class _Place:
    """What the rules of a scan share: its root, and whether capital and small letters are equal (core.ignoreCase)."""

    root: Path
    fold: bool


class IgnoreRules:
    """The rules for the names in one directory. Immutable; `child` gives those of a directory below.

    Attributes:
        repository: The innermost git repository that the directory belongs to, or None.
    """

    def __init__(self, threads: Iterable[_Thread], place: _Place, repository: "Repository | None" = None) -> None:
        self._threads = tuple(sorted(dict.fromkeys(threads), key=lambda thread: thread.rule.rank))
        self._place = place
        self.repository = repository
        self._entered: dict[str, IgnoreRules] = {}

    @classmethod
    def for_root(cls, root: Path, exclude: Sequence[str] = ()) -> "IgnoreRules":
        """Return the rules for the names in a root directory, those of an enclosing repository included.

        A root that its repository ignores was named on purpose: only its own rules hold then.

        Args:
            root: Resolved.
            exclude: More patterns, relative to the root; they win over all files.
        """
        repository = find_repository(root)
        config = read_config(root, repository)
        rules = cls((), _Place(root, config.ignore_case))
        above = rules._with_repository(repository, config)._descended_to(root) if repository else None
        inside = above or rules._with_repository(None, config)._with_files(root, IGNORE_FILES)
        settings = "\n".join(exclude).encode("utf-8", "replace")
        return inside._with(inside._rules_in(settings, _Origin("excluded by the settings", own=True, rank=2)))

    def ignored(self, name: str, is_dir: bool, *, tracked: bool = False) -> str | None:
        """Return why a name in this directory is left out, or None.

        Whoever walks a tree does not enter directories that are left out: what is below cannot be re-included.

        Args:
            name: One name, not a path.
            is_dir: Whether it is a directory, and no link to one.
            tracked: Git has the file in its index, so that git's own rules do not apply to it.
        """
        key = self._key(name)
        if not self._last.may_match(key):
            return None
        for rule, segment in self._endings:
            if (is_dir or not rule.directories_only) and (rule.own or not tracked) and segment.matches(key):
                return None if rule.negated else rule.reason
        return None

    def child(self, directory: "Path | os.DirEntry[str]", names: Collection[str] = MARKERS) -> "IgnoreRules":
        """Return the rules for the names in a directory of this one, its ignore files included.

        Args:
            directory: Its name and place.
            names: Which of `MARKERS` the directory has, where the caller knows; by default each is looked for.
        """
        rules = self._below(self._key(directory.name))
        if not names:
            return rules
        path = Path(directory)
        repository = repository_at(path) if ".git" in names else None
        if repository:
            rules = rules._with_repository(repository, read_config(path, repository))
        return rules._with_files(path, [name for name in IGNORE_FILES if name in names])

    def _key(self, name: str) -> str:
        """Return a name as its bytes, one character for each, in small letters where those are the same."""
        key = name if name.isascii() else os.fsencode(name).decode("latin-1")
        return _lower(key) if self._place.fold else key

    @cached_property
    def _endings(self) -> list[tuple[_Rule, _Segment]]:
        """What a name must match for a rule to be decided, the rule that wins first."""
        return [(thread.rule, thread.segment) for thread in reversed(self._threads) if thread.is_last]

    @cached_property
    def _last(self) -> _Filter:
        return _Filter([segment for _, segment in self._endings])

    @cached_property
    def _inner(self) -> _Filter:
        """Knows the names of directories below which more is to be matched than below others."""
        return _Filter([one.segment for one in self._threads if not one.is_last and one.segment is not _ANY_NAMES])

    @cached_property
    def _elsewhere(self) -> "IgnoreRules":
        """The rules in every directory whose name no pattern has in its middle."""
        threads = [one for thread in self._threads if thread.segment is _ANY_NAMES for one in thread.after("")]
        return self._with_threads(threads)

    def _below(self, name: str) -> "IgnoreRules":
        if not self._inner.may_match(name):
            return self._elsewhere
        if name not in self._entered:
            self._entered[name] = self._with_threads([one for thread in self._threads for one in thread.after(name)])
        return self._entered[name]

    def _with_threads(self, threads: Iterable[_Thread]) -> "IgnoreRules":
        rules = IgnoreRules(threads, self._place, self.repository)
        return self if rules._threads == self._threads else rules

    def _with(self, rules: Iterable[_Rule]) -> "IgnoreRules":
        starts = [_Thread(rule, path, 0) for rule in rules for path in range(len(rule.paths))]
        unfolded = [one for start in starts for one in start.unfolded()]
        return self._with_threads([*self._threads, *unfolded])

    def _with_files(self, directory: Path, names: Iterable[str]) -> "IgnoreRules":
        """Add a directory's ignore files. Like git, go on without one that is a link or cannot be read."""
        rules: list[_Rule] = []
        for name in names:
            label = Path(os.path.relpath(directory / name, self._place.root)).as_posix()
            origin = _Origin(f"ignored by {label}", own=name != ".gitignore")
            rules += self._rules_in(_content(directory / name), origin)
        return self._with(rules) if rules else self

    def _with_repository(self, repository: "Repository | None", config: "GitConfig") -> "IgnoreRules":
        """Start anew at the top of a repository: of the rules from above it, only those that are not git's hold."""
        own = IgnoreRules([thread for thread in self._threads if thread.rule.own], self._place, repository)
        files = [(config.excludes_file, str(config.excludes_file))]
        if repository:
            files.append((repository.common_dir / "info" / "exclude", ".git/info/exclude"))
        rules: list[_Rule] = []
        for path, label in files:
            rules += self._rules_in(_content(path, follow=True), _Origin(f"ignored by {label}", rank=0))
        return own._with(rules)

    def _rules_in(self, data: bytes, origin: _Origin) -> Iterator[_Rule]:
        return _parse_file(data, origin, fold=self._place.fold)

    def _descended_to(self, root: Path) -> "IgnoreRules | None":
        """Return the rules in a directory anywhere below this repository's top, or None if it is left out itself."""
        if self.repository is None:
            return None
        directory = self.repository.top
        rules = self._with_files(directory, IGNORE_FILES)
        for name in root.relative_to(directory).parts:
            if rules.ignored(name, is_dir=True):
                return None
            directory /= name
            rules = rules.child(directory)
        return rules


def _content(path: Path, *, follow: bool = False) -> bytes:
    try:
        return read_regular(path, _LARGEST_IGNORE_FILE, follow=follow)[0]
    except OSError:
        return b""


# ---- repositories --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Repository:
    """A git working tree.

    Attributes:
        common_dir: The git directory that all working trees of the repository share.
    """

    top: Path
    common_dir: Path


def find_repository(directory: Path) -> Repository | None:
    """Return the innermost repository that a directory is in."""
    return next(filter(None, map(repository_at, (directory, *directory.parents))), None)


def repository_at(directory: Path) -> Repository | None:
    """Return the repository whose tree begins at a directory; ``.git`` is a file in worktrees and submodules."""
    git_dir = directory / ".git"
    try:
        if git_dir.is_file():
            git_dir = directory / _line(git_dir).removeprefix("gitdir:").strip()
        common_dir = git_dir / (_line(git_dir / "commondir") or ".")
        if (git_dir / "HEAD").exists() and (common_dir / "objects").is_dir():
            return Repository(directory, common_dir.resolve())
    except (OSError, ValueError, RuntimeError):  # unreadable, a NUL in a path, a loop of links
        pass
    return None


def _line(path: Path) -> str:
    return os.fsdecode(_content(path, follow=True)).rstrip("\r\n")


def run_git(directory: Path, *arguments: str) -> bytes | None:
    """Return what a git command prints, or None if there is no git or it fails.

    The repository is not trusted: no command that its configuration names is run, and neither is a ``git`` of its own.
    The place comes from ``directory`` only, also inside a git hook, which sets ``GIT_DIR``.
    """
    executable = shutil.which("git")
    if executable is None or Path(executable).resolve().is_relative_to(directory):
        return None
    environment = {name: value for name, value in os.environ.items() if not _GIT_LOCATION.fullmatch(name)}
    command = [executable, "-c", "core.fsmonitor=false", *arguments]
    try:
        result = subprocess.run(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if result.returncode != 0:
        _logger.warning("git %s in %s: %s", arguments[0], directory, os.fsdecode(result.stderr).strip())
        return None
    return result.stdout


class GitConfig(NamedTuple):
    """The two settings of git that decide what is ignored."""

    excludes_file: Path
    ignore_case: bool


_CONFIG_LINE = re.compile(r"""\s*(\w+)\s*(?:=\s*"?([^"#;]*?)"?\s*)?(?:[#;].*)?""")
_TRUE = ("", "true", "yes", "on", "1")


def read_config(directory: Path, repository: Repository | None) -> GitConfig:
    """Return git's settings for a directory: as git tells them or, without git, from the files it would read."""
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    printed = run_git(directory, "config", "-z", "--list")
    if printed is None:
        values = _values_without_git(_expanded(home), repository)
    else:
        pairs = (entry.partition("\n") for entry in os.fsdecode(printed).split("\0"))
        values = {key: value for key, _, value in pairs}
    excludes_file = values.get("core.excludesfile", f"{home}/git/ignore")
    return GitConfig(directory / _expanded(excludes_file), values.get("core.ignorecase", "false").lower() in _TRUE)


def _expanded(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:  # no home
        return Path(path)


def _values_without_git(config_home: Path, repository: Repository | None) -> dict[str, str]:
    """Read the ``[core]`` sections of the user's and the repository's configuration; includes are not followed."""
    user = os.environ.get("GIT_CONFIG_GLOBAL")
    files = [Path(user)] if user else [config_home / "git" / "config", _expanded("~/.gitconfig")]
    files += [repository.common_dir / "config"] if repository else []
    values: dict[str, str] = {}
    for file in files:
        section = ""
        for line in os.fsdecode(_content(file, follow=True)).splitlines():
            if line.lstrip().startswith("["):
                section = line.strip().strip("[] \t").lower()
            elif section == "core" and (setting := _CONFIG_LINE.fullmatch(line)):
                values[f"core.{setting[1].lower()}"] = (setting[2] or "").replace("\\\\", "\\")
    return values
