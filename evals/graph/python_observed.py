"""Calls between the functions of a Python repository, observed while its own tests run."""

import functools
import json
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .python_source import PythonFile
from .truth import EvaluationError, Hierarchy, Place, Site, Target, Truth

_SCRIPT = Path(__file__).with_name("python_trace.py")


def observe(repository: Path, python: Path, command: Sequence[str], timeout_s: float) -> Truth:
    """Run a program, usually the tests, and return the calls that it made.

    Args:
        repository: Its root.
        python: The interpreter that has what the program needs, 3.12 or newer.
        command: A module to run with its arguments, such as `["pytest", "-q"]`.
        timeout_s: How long it may take, in seconds.

    Raises:
        EvaluationError: The interpreter cannot be run, or the program was stopped or recorded nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "calls.json")
        arguments = [str(python), str(_SCRIPT), str(repository.resolve()), str(output), *command]
        try:
            done = subprocess.run(
                arguments, cwd=repository, timeout=timeout_s, capture_output=True, text=True, check=False
            )
        except OSError as error:
            raise EvaluationError(f"{python}: {error.strerror}; name an interpreter with --python") from error
        except subprocess.TimeoutExpired as error:
            raise EvaluationError(f"{' '.join(command)}: not done after {timeout_s:g} s; run fewer tests") from error
        if not output.exists():
            raise EvaluationError(
                f"{' '.join(command)}: recorded nothing: {(done.stderr or done.stdout).strip()[-800:]}"
            )
        recorded = json.loads(output.read_text(encoding="utf-8"))
    if not recorded["calls"]:
        raise EvaluationError(f"{' '.join(command)}: no calls in {repository}: {done.stdout.strip()[-800:]}")
    return place(repository, recorded, f"Python tests (exit status {recorded['status']})")


def place(repository: Path, recorded: dict[str, Any], tool: str) -> Truth:
    """Turn the positions that `python_trace.py` recorded into call sites with the declarations they reach.

    Args:
        repository: The root.
        recorded: What the script wrote.
        tool: Name of the source, for the report.
    """
    files = _Files(repository)
    notes: Counter[str] = Counter()
    targets: dict[tuple[str, int, str], set[Target]] = defaultdict(set)
    for record in recorded["calls"]:
        file = files[record["path"]]
        call = file.call_at(tuple(record["position"])) if file else None
        if file is None or call is None or (record["again"] and call.kind == "maker"):
            notes[
                "no call of a name (f()(), the value of a decorator's call), or a file that this Python cannot parse"
            ] += 1
            continue
        target = files.target(record, call.kind, file.aliases.get(call.name, call.name))
        if target is None:
            notes["callee made at run time, or declared more than once"] += 1
            continue
        targets[record["path"], call.line, call.name].add(target)
    sites = [Site(*where, tuple(sorted(found, key=_order))) for where, found in sorted(targets.items())]
    return Truth(tool, sites, list(files.hierarchy(recorded["classes"])), dict(notes))


class _Files:
    """The parsed files of a repository, each read when first asked for."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository

    @functools.cache  # noqa: B019  # lives as long as one conversion
    def __getitem__(self, path: str) -> PythonFile | None:
        try:
            return PythonFile((self._repository / path).read_bytes())
        except (OSError, SyntaxError, ValueError):
            return None

    def place(self, found: dict[str, Any] | None) -> Place | None:
        """Return where a recorded function or class is declared; `None` if it has no name in the text."""
        if found is None or (file := self[found["path"]]) is None:
            return None
        line = file.declared_at(found["qualified_name"], found["line"])
        return None if line is None else Place(found["path"], line, found["qualified_name"].rpartition(".")[2])

    def target(self, record: dict[str, Any], form: str, written: str) -> Target | None:
        """Return what a recorded call reaches.

        Args:
            record: The call.
            form: Kind of the call's expression.
            written: The called name, without an import's alias.
        """
        place = self.place(record["target"])
        if place is None:
            return None
        kind = "new" if record["class"] else "call"
        if form == "decorator":
            kind = form
        elif record["decorated"]:
            kind = "decorated"
        elif written != place.name:
            kind = "value"
        constructor = self.place(record["constructor"])
        overridden = tuple(each for each in map(self.place, record["overridden"]) if each is not None)
        return Target(place, kind, (constructor,) if constructor else (), overridden)

    def hierarchy(self, classes: Sequence[dict[str, Any]]) -> Iterator[Hierarchy]:
        """Return the recorded classes that the text declares."""
        for row in classes:
            declaration = self.place(row["class"])
            if declaration is not None:
                bases = tuple(base for base in map(self.place, row["bases"]) if base is not None)
                yield Hierarchy(declaration, bases)


def _order(target: Target) -> tuple[Place, str]:
    return target.place, target.kind
