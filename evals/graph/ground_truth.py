"""What a tool says about a repository: its call sites, its class hierarchy, and the file that keeps both."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

TRUTH_FORMAT = 1
SEPARATE_CALL_KINDS = frozenset({"decorated", "decorator", "jsx", "tag"})
"""Kinds of calls that are no call expressions of the callee; they are counted, but apart."""


class EvaluationError(Exception):
    """Something needed for the measurement is missing or broken; the message says what, where and what to do."""


class DeclarationSite(NamedTuple):
    """Where a declaration is: file in the repository, line of its name from 1, and that name."""

    path: str
    line: int
    name: str


@dataclass(frozen=True, slots=True)
class CallTarget:
    """What one call reaches.

    Args:
        place: The declaration; of an instantiation the class.
        kind: `call` and `new` name the callee; `value` calls what a variable holds; see `SEPARATE_CALL_KINDS` for the others.
        also: Declarations that are as good an answer, such as a constructor or the other overloads.
        overridden: Methods of base classes that the declaration overrides, nearest first.
    """

    place: DeclarationSite
    kind: str
    also: tuple[DeclarationSite, ...] = ()
    overridden: tuple[DeclarationSite, ...] = ()


@dataclass(frozen=True, slots=True)
class CallSite:
    """One call in the text.

    Args:
        path: File in the repository, with slashes.
        line: Of the called name, from 1.
        name: What is written there.
        targets: What it reaches in the repository.
        outside: Whether the tool knows that it reaches something outside the repository.
        held: Whether the tool knows only that the name is a parameter or variable; the call reaches what that holds.
    """

    path: str
    line: int
    name: str
    targets: tuple[CallTarget, ...] = ()
    outside: bool = False
    held: bool = False


@dataclass(frozen=True, slots=True)
class ClassBases:
    """A class with those of its direct bases that are in the repository."""

    declaration: DeclarationSite
    bases: tuple[DeclarationSite, ...]


@dataclass(frozen=True, slots=True)
class GroundTruth:
    """All that one tool said of one repository.

    Args:
        tool: Its name and version.
        sites: Its calls.
        hierarchy: Its classes.
        notes: What was left out, and how often.
        files: Those whose calls are all listed; empty for a tool that lists only what it saw.
    """

    tool: str
    sites: Sequence[CallSite]
    hierarchy: Sequence[ClassBases] = ()
    notes: dict[str, int] | None = None
    files: Sequence[str] = ()

    def summarize(self) -> dict[str, Any]:
        """Return how much the tool said."""
        kinds = Counter(target.kind for site in self.sites for target in site.targets)
        return {
            "tool": self.tool,
            "call sites": len(self.sites),
            "calls into the repository": dict(sorted(kinds.items())),
            "classes": len(self.hierarchy),
            "left out": dict(self.notes or {}),
        }

    def save(self, file: Path) -> None:
        """Write the truth as JSON."""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"format": TRUTH_FORMAT, **asdict(self)}, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, file: Path) -> Self:
        """Read what `save` or one of the scripts in this folder wrote.

        Raises:
            EvaluationError: It is no such file.
        """
        data = read_json(file)
        if not isinstance(data, dict) or data.get("format") != TRUTH_FORMAT:
            raise EvaluationError(f"{file}: no recorded truth of format {TRUTH_FORMAT}; delete it to record anew")
        try:
            return cls.from_json(data)
        except (KeyError, TypeError) as error:
            raise EvaluationError(f"{file}: it lacks or misplaces {error}; delete it to record anew") from error

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Return what the JSON of a truth says."""
        sites = [CallSite(**{**row, "targets": tuple(map(_parse_target, row["targets"]))}) for row in data["sites"]]
        hierarchy = [
            ClassBases(DeclarationSite(*row["declaration"]), _parse_places(row["bases"])) for row in data["hierarchy"]
        ]
        return cls(data["tool"], sites, hierarchy, data["notes"], tuple(data["files"]))


def read_json(file: Path) -> Any:  # noqa: ANN401  # whatever the file holds
    """Return the content of a JSON file.

    Raises:
        EvaluationError: It cannot be read or is no JSON.
    """
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise EvaluationError(f"{file}: {error.strerror or error}") from error
    except ValueError as error:
        raise EvaluationError(f"{file}: no JSON: {error}") from error


def _parse_target(row: dict[str, Any]) -> CallTarget:
    return CallTarget(
        DeclarationSite(*row["place"]),
        row["kind"],
        _parse_places(row.get("also", ())),
        _parse_places(row.get("overridden", ())),
    )


def _parse_places(rows: Iterable[Sequence[Any]]) -> tuple[DeclarationSite, ...]:
    return tuple(DeclarationSite(*row) for row in rows)
