"""Recorders of the ground truth, by language."""

import json
import shlex
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .exported_graph import ExportedEdge, ExportedGraph
from .ground_truth import CallSite, EvaluationError, GroundTruth
from .python_definitions import PythonDefinitionFinder
from .python_observation import observe_calls

_SCRIPT_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class MeasurementOptions:
    """Options of a measurement.

    Args:
        repository: Its root.
        python: Interpreter of the repository's environment.
        run: Module and arguments that run its tests.
        tools: Folder with pyright or TypeScript, installed by npm.
        keep: Folder for the tools' results; without it, every run asks the tools again.
        timeout_s: Time limit of a tool in seconds.
    """

    repository: Path
    python: Path | None
    run: str
    tools: Path | None
    keep: Path | None
    timeout_s: float


def record_truth(language: str, options: MeasurementOptions) -> GroundTruth:
    """Return the calls of a repository, recorded now or earlier.

    Raises:
        EvaluationError: A tool fails, or a tool or one of its options is missing.
    """
    file = options.keep / "calls.json" if options.keep else None
    if file is not None and file.exists():
        return GroundTruth.load(file)
    truth = RECORDERS[language](options)
    if file is not None:
        truth.save(file)
    return truth


def find_covered_files(language: str, graph: ExportedGraph, truth: GroundTruth) -> set[str]:
    """Return the files with known calls: those that the compiler listed, or all Python files."""
    if language != "python":
        return set(truth.files)
    return {edge.path for edge in graph.edges if edge.path.endswith(".py")}


def find_judge_sites(
    language: str, options: MeasurementOptions, truth: GroundTruth, edges: Sequence[ExportedEdge]
) -> Iterable[CallSite]:
    """Return the tools' call sites on the lines of some edges.

    Where a compiler lists all calls, these are the recorded ones. For Python, jedi and pyright are asked as well.

    Raises:
        EvaluationError: A tool fails, or a tool or one of its options is missing.
    """
    if language != "python":
        return truth.sites
    cache = options.keep / "answers.json" if options.keep else None
    finder = PythonDefinitionFinder(options.repository, _require_python(options), _require_tools(options), cache)
    return [*truth.sites, *finder.find_sites((edge.path, edge.line) for edge in edges)]


def _record_python(options: MeasurementOptions) -> GroundTruth:
    return observe_calls(options.repository, _require_python(options), shlex.split(options.run), options.timeout_s)


def _record_typescript(options: MeasurementOptions) -> GroundTruth:
    package = _require_tools(options).resolve() / "node_modules" / "typescript"
    if not package.is_dir():
        raise EvaluationError(
            f"{package}: missing; install it with `npm install --prefix {options.tools} typescript@5`"
        )
    script = [str(_SCRIPT_FOLDER / "typescript_calls.mjs"), str(package), str(options.repository.resolve())]
    return _run_recorder(["node", *script], options)


def _run_recorder(command: Sequence[str], options: MeasurementOptions) -> GroundTruth:
    """Run a program that writes a ground truth to its standard output."""
    try:
        completed = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout_s, check=False)
    except OSError as error:
        raise EvaluationError(f"{command[0]}: {error.strerror}; install it and add it to PATH") from error
    except subprocess.TimeoutExpired as error:
        raise EvaluationError(f"{command[0]}: timed out after {options.timeout_s:g} s; raise --timeout") from error
    if completed.returncode:
        raise EvaluationError(
            f"{' '.join(command[:2])}: status {completed.returncode}: {completed.stderr.strip()[:800]}"
        )
    return GroundTruth.from_json(json.loads(completed.stdout))


def _require_python(options: MeasurementOptions) -> Path:
    if options.python is None:
        raise EvaluationError(
            "--python: missing; name the interpreter of an environment that has the repository and jedi"
        )
    return options.python


def _require_tools(options: MeasurementOptions) -> Path:
    if options.tools is None:
        raise EvaluationError("--tools: missing; name the folder in which npm installed pyright or typescript")
    return options.tools


RECORDERS: dict[str, Callable[[MeasurementOptions], GroundTruth]] = {
    "python": _record_python,
    "typescript": _record_typescript,
}
"""Recorder of each supported language."""
