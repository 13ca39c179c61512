"""Ground truth of a repository according to one tool: call sites, class hierarchy, and the file that holds both."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

TRUTH_FORMAT = 1
SEPARATE_CALL_KINDS = frozenset({"decorated", "decorator", "jsx", "tag"})
"""Kinds of calls that are not call expressions of the callee; they are counted separately."""


class EvaluationError(Exception):
    """Missing or broken input of the measurement; the message names it and the remedy."""


class DeclarationSite(NamedTuple):
    """Place of a declaration: file in the repository, line of its name from 1, and that name."""

    path: str
    line: int
    name: str


@dataclass(frozen=True, slots=True)
class CallTarget:
    """Target of a call.

    Args:
        place: The declaration; for an instantiation the class.
        kind: `call` and `new` name the callee; `value` calls the value of a variable; see `SEPARATE_CALL_KINDS` for the others.
        also: Equally right declarations, such as a constructor or the other overloads.
        overridden: Methods of base classes that the declaration overrides, nearest first.
    """

    place: DeclarationSite
    kind: str
    also: tuple[DeclarationSite, ...] = ()
    overridden: tuple[DeclarationSite, ...] = ()


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call in the text.

    Args:
        path: File in the repository, with slashes.
        line: Line of the called name, from 1.
        name: Name as written.
        targets: Targets in the repository.
        outside: Whether the tool found a target outside the repository.
        held: Whether the tool found only that the name is a parameter or variable, whose value is called.
    """

    path: str
    line: int
    name: str
    targets: tuple[CallTarget, ...] = ()
    outside: bool = False
    held: bool = False


@dataclass(frozen=True, slots=True)
class ClassBases:
    """A class and its direct bases in the repository."""

    declaration: DeclarationSite
    bases: tuple[DeclarationSite, ...]


@dataclass(frozen=True, slots=True)
class GroundTruth:
    """Calls and classes of a repository according to one tool.

    Args:
        tool: Its name and version.
        sites: Its calls.
        hierarchy: Its classes.
        notes: Reasons for omitted calls, with their counts.
        files: Files with a complete list of calls; empty for a tool that lists only observed calls.
    """

    tool: str
    sites: Sequence[CallSite]
    hierarchy: Sequence[ClassBases] = ()
    notes: dict[str, int] | None = None
    files: Sequence[str] = ()

    def summarize(self) -> dict[str, Any]:
        """Return counts of calls and classes."""
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
        """Read a file written by `save` or by a script in this folder.

        Raises:
            EvaluationError: It is not such a file.
        """
        data = read_json(file)
        if not isinstance(data, dict) or data.get("format") != TRUTH_FORMAT:
            raise EvaluationError(
                f"{file}: not a recorded truth of format {TRUTH_FORMAT}; delete it to record it again"
            )
        try:
            return cls.from_json(data)
        except (KeyError, TypeError) as error:
            raise EvaluationError(f"{file}: invalid record: {error}; delete it to record it again") from error

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Return the truth from its JSON form."""
        sites = [CallSite(**{**row, "targets": tuple(map(_parse_target, row["targets"]))}) for row in data["sites"]]
        hierarchy = [
            ClassBases(DeclarationSite(*row["declaration"]), _parse_places(row["bases"])) for row in data["hierarchy"]
        ]
        return cls(data["tool"], sites, hierarchy, data["notes"], tuple(data["files"]))


def read_json(file: Path) -> Any:  # noqa: ANN401  # whatever the file holds
    """Return the content of a JSON file.

    Raises:
        EvaluationError: It cannot be read or is not JSON.
    """
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise EvaluationError(f"{file}: {error.strerror or error}") from error
    except ValueError as error:
        raise EvaluationError(f"{file}: not valid JSON: {error}") from error


def _parse_target(row: dict[str, Any]) -> CallTarget:
    return CallTarget(
        DeclarationSite(*row["place"]),
        row["kind"],
        _parse_places(row.get("also", ())),
        _parse_places(row.get("overridden", ())),
    )


def _parse_places(rows: Iterable[Sequence[Any]]) -> tuple[DeclarationSite, ...]:
    return tuple(DeclarationSite(*row) for row in rows)
