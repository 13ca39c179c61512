"""Which names in a directory git and ``.coderagignore`` files leave out.

A directory's `IgnoreRules` are *threads*: patterns together with the segment that is to be matched next. Entering a
directory moves every thread on by one name and drops those that cannot match any more. So whole paths are never matched
again, most directories of a repository share one object, and a name that no pattern can match costs well under a
microsecond.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from coderag.ingestion.files.git_repository import (
    GitConfig,
    Repository,
    content_of,
    find_repository,
    read_config,
    repository_at,
)
from coderag.ingestion.files.ignore_patterns import (
    ANY_NAMES,
    NameFilter,
    Origin,
    Rule,
    Segment,
    lower_ascii,
    parse_patterns,
)

IGNORE_FILES = (".gitignore", ".coderagignore")
"""Read in every directory; of two patterns in one directory, that of the latter file wins."""

MARKERS = frozenset((".git", *IGNORE_FILES))
"""The names in a directory that change the rules below it."""


class _Thread(NamedTuple):
    """A rule with the segment of one of its paths that the next name is to match."""

    rule: Rule
    path: int
    position: int

    @property
    def segment(self) -> Segment:
        return self.rule.paths[self.path][self.position]

    @property
    def is_last(self) -> bool:
        return self.position == len(self.rule.paths[self.path]) - 1

    def unfolded(self) -> Iterator["_Thread"]:
        """Yield this thread, and the next one if it stands at ``**``, which may also match no name at all."""
        yield self
        if self.segment is ANY_NAMES and not self.is_last:
            yield _Thread(self.rule, self.path, self.position + 1)

    def after(self, name: str) -> Iterator["_Thread"]:
        """Yield what is to be matched below a directory of that name."""
        if self.segment is ANY_NAMES:
            yield from self.unfolded()
        elif not self.is_last and self.segment.matches(name):
            yield from _Thread(self.rule, self.path, self.position + 1).unfolded()


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

    def __init__(self, threads: Iterable[_Thread], place: _Place, repository: Repository | None = None) -> None:
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
        return inside._with(inside._rules_in(settings, Origin("excluded by the settings", own=True, rank=2)))

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
        return lower_ascii(key) if self._place.fold else key

    @cached_property
    def _endings(self) -> list[tuple[Rule, Segment]]:
        """What a name must match for a rule to be decided, the rule that wins first."""
        return [(thread.rule, thread.segment) for thread in reversed(self._threads) if thread.is_last]

    @cached_property
    def _last(self) -> NameFilter:
        return NameFilter([segment for _, segment in self._endings])

    @cached_property
    def _inner(self) -> NameFilter:
        """Knows the names of directories below which more is to be matched than below others."""
        return NameFilter([one.segment for one in self._threads if not one.is_last and one.segment is not ANY_NAMES])

    @cached_property
    def _elsewhere(self) -> "IgnoreRules":
        """The rules in every directory whose name no pattern has in its middle."""
        threads = [one for thread in self._threads if thread.segment is ANY_NAMES for one in thread.after("")]
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

    def _with(self, rules: Iterable[Rule]) -> "IgnoreRules":
        starts = [_Thread(rule, path, 0) for rule in rules for path in range(len(rule.paths))]
        unfolded = [one for start in starts for one in start.unfolded()]
        return self._with_threads([*self._threads, *unfolded])

    def _with_files(self, directory: Path, names: Iterable[str]) -> "IgnoreRules":
        """Add a directory's ignore files. Like git, go on without one that is a link or cannot be read."""
        rules: list[Rule] = []
        for name in names:
            label = Path(os.path.relpath(directory / name, self._place.root)).as_posix()
            origin = Origin(f"ignored by {label}", own=name != ".gitignore")
            rules += self._rules_in(content_of(directory / name), origin)
        return self._with(rules) if rules else self

    def _with_repository(self, repository: Repository | None, config: GitConfig) -> "IgnoreRules":
        """Start anew at the top of a repository: of the rules from above it, only those that are not git's hold."""
        own = IgnoreRules([thread for thread in self._threads if thread.rule.own], self._place, repository)
        files = [(config.excludes_file, str(config.excludes_file))]
        if repository:
            files.append((repository.common_dir / "info" / "exclude", ".git/info/exclude"))
        rules: list[Rule] = []
        for path, label in files:
            rules += self._rules_in(content_of(path, follow=True), Origin(f"ignored by {label}", rank=0))
        return own._with(rules)

    def _rules_in(self, data: bytes, origin: Origin) -> Iterator[Rule]:
        return parse_patterns(data, origin, fold=self._place.fold)

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
