"""Calls between the functions of a Python repository, observed while its tests run."""

import functools
import json
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .ground_truth import CallSite, CallTarget, ClassBases, DeclarationSite, EvaluationError, GroundTruth
from .python_source import PythonFile

_SCRIPT = Path(__file__).with_name("python_trace.py")


def observe_calls(repository: Path, python: Path, command: Sequence[str], timeout_s: float) -> GroundTruth:
    """Run a program, usually the tests, and return its calls.

    Args:
        repository: Its root.
        python: The interpreter of the repository's environment, 3.12 or newer.
        command: A module to run with its arguments, such as `["pytest", "-q"]`.
        timeout_s: Time limit in seconds.

    Raises:
        EvaluationError: The interpreter cannot be run, or the program timed out or recorded nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "calls.json")
        arguments = [str(python), str(_SCRIPT), str(repository.resolve()), str(output), *command]
        try:
            completed = subprocess.run(
                arguments, cwd=repository, timeout=timeout_s, capture_output=True, text=True, check=False
            )
        except OSError as error:
            raise EvaluationError(f"{python}: {error.strerror}; name an interpreter with --python") from error
        except subprocess.TimeoutExpired as error:
            raise EvaluationError(f"{' '.join(command)}: timed out after {timeout_s:g} s; run fewer tests") from error
        if not output.exists():
            raise EvaluationError(
                f"{' '.join(command)}: recorded nothing: {(completed.stderr or completed.stdout).strip()[-800:]}"
            )
        recorded = json.loads(output.read_text(encoding="utf-8"))
    if not recorded["calls"]:
        raise EvaluationError(f"{' '.join(command)}: no calls in {repository}: {completed.stdout.strip()[-800:]}")
    return build_truth(repository, recorded, f"Python tests (exit status {recorded['status']})")


def build_truth(repository: Path, recorded: dict[str, Any], tool: str) -> GroundTruth:
    """Convert the positions that `python_trace.py` recorded to call sites with their target declarations.

    Args:
        repository: The root.
        recorded: Output of the script.
        tool: Name of the source, for the report.
    """
    files = _SourceFiles(repository)
    notes: Counter[str] = Counter()
    targets: dict[tuple[str, int, str], set[CallTarget]] = defaultdict(set)
    for record in recorded["calls"]:
        file = files[record["path"]]
        call = file.find_call(tuple(record["position"])) if file else None
        if file is None or call is None or (record["again"] and call.kind == "maker"):
            notes[
                "no call of a name (f()(), the value of a decorator's call), or a file that this Python cannot parse"
            ] += 1
            continue
        target = files.find_target(record, call.kind, file.aliases.get(call.name, call.name))
        if target is None:
            notes["callee made at run time, or declared more than once"] += 1
            continue
        targets[record["path"], call.line, call.name].add(target)
    sites = [
        CallSite(*site_key, tuple(sorted(site_targets, key=_get_sort_key)))
        for site_key, site_targets in sorted(targets.items())
    ]
    return GroundTruth(tool, sites, list(files.iterate_hierarchy(recorded["classes"])), dict(notes))


class _SourceFiles:
    """Parsed files of a repository, each read on first use."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository

    @functools.cache  # noqa: B019  # lives as long as one conversion
    def __getitem__(self, path: str) -> PythonFile | None:
        try:
            return PythonFile((self._repository / path).read_bytes())
        except (OSError, SyntaxError, ValueError):
            return None

    def find_place(self, declaration: dict[str, Any] | None) -> DeclarationSite | None:
        """Return the place of a recorded function or class; None if it has no name in the text."""
        if declaration is None or (file := self[declaration["path"]]) is None:
            return None
        line = file.find_declaration_line(declaration["qualified_name"], declaration["line"])
        return (
            None
            if line is None
            else DeclarationSite(declaration["path"], line, declaration["qualified_name"].rpartition(".")[2])
        )

    def find_target(self, record: dict[str, Any], call_kind: str, called_name: str) -> CallTarget | None:
        """Return the target of a recorded call.

        Args:
            record: The call.
            call_kind: Kind of the call expression.
            called_name: The called name, without an import's alias.
        """
        place = self.find_place(record["target"])
        if place is None:
            return None
        kind = "new" if record["class"] else "call"
        if call_kind == "decorator":
            kind = call_kind
        elif record["decorated"]:
            kind = "decorated"
        elif called_name != place.name:
            kind = "value"
        constructor = self.find_place(record["constructor"])
        overridden = tuple(
            overridden_place
            for overridden_place in map(self.find_place, record["overridden"])
            if overridden_place is not None
        )
        return CallTarget(place, kind, (constructor,) if constructor else (), overridden)

    def iterate_hierarchy(self, classes: Sequence[dict[str, Any]]) -> Iterator[ClassBases]:
        """Yield the recorded classes that the text declares."""
        for row in classes:
            declaration = self.find_place(row["class"])
            if declaration is not None:
                bases = tuple(base for base in map(self.find_place, row["bases"]) if base is not None)
                yield ClassBases(declaration, bases)


def _get_sort_key(target: CallTarget) -> tuple[DeclarationSite, str]:
    return target.place, target.kind
