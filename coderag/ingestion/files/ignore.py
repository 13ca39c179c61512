"""Ignore rules of git and ``.coderagignore`` for the names in a directory.

A directory's `IgnoreRules` hold *match states*: patterns with the segment to match next, as in the simulation of an NFA.
Entering a directory advances every state by one name and drops the states that can no longer match. So paths are never
matched from the start again, and most directories of a repository share one object. A name that no pattern can match costs
well under a microsecond.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from coderag.ingestion.files.git_repository import (
    GitConfig,
    GitRepository,
    find_repository,
    read_config,
    read_repository,
    read_small_file,
)
from coderag.ingestion.files.ignore_patterns import (
    ANY_NAMES,
    IgnoreRule,
    NameFilter,
    PatternOrigin,
    PatternSegment,
    lower_ascii,
    parse_patterns,
)

IGNORE_FILES = (".gitignore", ".coderagignore")
"""Read in every directory; patterns of the latter file override those of the former."""

MARKERS = frozenset((".git", *IGNORE_FILES))
"""Names in a directory that change the rules below it."""


class _MatchState(NamedTuple):
    """A rule with the segment of one of its paths that must match the next name."""

    rule: IgnoreRule
    path: int
    position: int

    @property
    def segment(self) -> PatternSegment:
        return self.rule.paths[self.path][self.position]

    @property
    def is_last(self) -> bool:
        return self.position == len(self.rule.paths[self.path]) - 1

    def expand(self) -> Iterator["_MatchState"]:
        """Yield this state, and the next one if it is at ``**``, which may also match no name at all."""
        yield self
        if self.segment is ANY_NAMES and not self.is_last:
            yield _MatchState(self.rule, self.path, self.position + 1)

    def advance(self, name: str) -> Iterator["_MatchState"]:
        """Yield the states below a directory of the given name."""
        if self.segment is ANY_NAMES:
            yield from self.expand()
        elif not self.is_last and self.segment.matches(name):
            yield from _MatchState(self.rule, self.path, self.position + 1).expand()


@dataclass(frozen=True, slots=True)
class _ScanOptions:
    """Options of a scan: its root, and whether case is ignored (core.ignoreCase)."""

    root: Path
    fold: bool


class IgnoreRules:
    """Rules for the names in one directory. Immutable; `enter_directory` returns the rules of a subdirectory.

    Attributes:
        repository: The innermost git repository around the directory, or None.
    """

    def __init__(
        self, states: Iterable[_MatchState], options: _ScanOptions, repository: GitRepository | None = None
    ) -> None:
        self._states = tuple(sorted(dict.fromkeys(states), key=lambda state: state.rule.rank))
        self._options = options
        self.repository = repository
        self._children: dict[str, IgnoreRules] = {}

    @classmethod
    def load_for_root(cls, root: Path, exclude: Sequence[str] = ()) -> "IgnoreRules":
        """Load the rules for a root directory, including those of an enclosing repository.

        If the enclosing repository ignores the root, the user chose it on purpose: then only its own rules apply.

        Args:
            root: Resolved path.
            exclude: Further patterns, relative to the root; they override all files.
        """
        repository = find_repository(root)
        config = read_config(root, repository)
        rules = cls((), _ScanOptions(root, config.ignore_case))
        enclosing_rules = rules._with_repository(repository, config)._load_rules_at(root) if repository else None
        root_rules = enclosing_rules or rules._with_repository(None, config)._with_files(root, IGNORE_FILES)
        settings = "\n".join(exclude).encode("utf-8", "replace")
        return root_rules._with_rules(
            root_rules._parse_rules(
                settings, PatternOrigin("excluded by the settings", applies_to_tracked=True, rank=2)
            )
        )

    def find_ignore_reason(self, name: str, is_dir: bool, *, tracked: bool = False) -> str | None:
        """Return the reason why a name in this directory is ignored, or None.

        Callers must not enter ignored directories: files below them cannot be re-included.

        Args:
            name: A name, not a path.
            is_dir: Whether it is a directory, and not a link to one.
            tracked: Whether the file is in git's index, so that git's rules do not apply.
        """
        key = self._normalize_name(name)
        if not self._final_filter.may_match(key):
            return None
        for rule, segment in self._final_segments:
            if (
                (is_dir or not rule.directories_only)
                and (rule.applies_to_tracked or not tracked)
                and segment.matches(key)
            ):
                return None if rule.negated else rule.reason
        return None

    def enter_directory(self, directory: "Path | os.DirEntry[str]", names: Collection[str] = MARKERS) -> "IgnoreRules":
        """Return the rules for a subdirectory, including its ignore files.

        Args:
            directory: The subdirectory.
            names: Names in the directory that are in `MARKERS`. By default each is looked up.
        """
        rules = self._get_child(self._normalize_name(directory.name))
        if not names:
            return rules
        path = Path(directory)
        repository = read_repository(path) if ".git" in names else None
        if repository:
            rules = rules._with_repository(repository, read_config(path, repository))
        return rules._with_files(path, [name for name in IGNORE_FILES if name in names])

    def _normalize_name(self, name: str) -> str:
        """Encode a name as its bytes, with one character for each, in lower case if case is ignored."""
        key = name if name.isascii() else os.fsencode(name).decode("latin-1")
        return lower_ascii(key) if self._options.fold else key

    @cached_property
    def _final_segments(self) -> list[tuple[IgnoreRule, PatternSegment]]:
        """Rules and segments that a name may complete, in order of precedence."""
        return [(state.rule, state.segment) for state in reversed(self._states) if state.is_last]

    @cached_property
    def _final_filter(self) -> NameFilter:
        return NameFilter([segment for _, segment in self._final_segments])

    @cached_property
    def _inner_filter(self) -> NameFilter:
        """Filter for names of directories below which further segments match."""
        return NameFilter(
            [state.segment for state in self._states if not state.is_last and state.segment is not ANY_NAMES]
        )

    @cached_property
    def _default_child(self) -> "IgnoreRules":
        """Rules in every directory whose name matches no inner segment."""
        states = [advanced for state in self._states if state.segment is ANY_NAMES for advanced in state.advance("")]
        return self._with_states(states)

    def _get_child(self, name: str) -> "IgnoreRules":
        if not self._inner_filter.may_match(name):
            return self._default_child
        if name not in self._children:
            self._children[name] = self._with_states(
                [advanced for state in self._states for advanced in state.advance(name)]
            )
        return self._children[name]

    def _with_states(self, states: Iterable[_MatchState]) -> "IgnoreRules":
        rules = IgnoreRules(states, self._options, self.repository)
        return self if rules._states == self._states else rules

    def _with_rules(self, rules: Iterable[IgnoreRule]) -> "IgnoreRules":
        starts = [_MatchState(rule, path, 0) for rule in rules for path in range(len(rule.paths))]
        expanded = [state for start in starts for state in start.expand()]
        return self._with_states([*self._states, *expanded])

    def _with_files(self, directory: Path, names: Iterable[str]) -> "IgnoreRules":
        """Add a directory's ignore files. Like git, skip a file that is a link or cannot be read."""
        rules: list[IgnoreRule] = []
        for name in names:
            label = Path(os.path.relpath(directory / name, self._options.root)).as_posix()
            origin = PatternOrigin(f"ignored by {label}", applies_to_tracked=name != ".gitignore")
            rules += self._parse_rules(read_small_file(directory / name), origin)
        return self._with_rules(rules) if rules else self

    def _with_repository(self, repository: GitRepository | None, config: GitConfig) -> "IgnoreRules":
        """Reset the rules at the top of a repository; of the outer rules, only those that are not git's apply."""
        kept_rules = IgnoreRules(
            [state for state in self._states if state.rule.applies_to_tracked], self._options, repository
        )
        files = [(config.excludes_file, str(config.excludes_file))]
        if repository:
            files.append((repository.common_dir / "info" / "exclude", ".git/info/exclude"))
        rules: list[IgnoreRule] = []
        for path, label in files:
            rules += self._parse_rules(read_small_file(path, follow=True), PatternOrigin(f"ignored by {label}", rank=0))
        return kept_rules._with_rules(rules)

    def _parse_rules(self, data: bytes, origin: PatternOrigin) -> Iterator[IgnoreRule]:
        return parse_patterns(data, origin, fold=self._options.fold)

    def _load_rules_at(self, root: Path) -> "IgnoreRules | None":
        """Return the rules in a directory below this repository's top, or None if the directory is ignored."""
        if self.repository is None:
            return None
        directory = self.repository.top
        rules = self._with_files(directory, IGNORE_FILES)
        for name in root.relative_to(directory).parts:
            if rules.find_ignore_reason(name, is_dir=True):
                return None
            directory /= name
            rules = rules.enter_directory(directory)
        return rules
