"""Runs of pytest with the outcome of each test function."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

Outcome = Literal["passed", "failed", "skipped"]

_OUTCOMES_VARIABLE: Final = "CODERAG_TEST_OUTCOMES"
_PLUGIN: Final = f'''
import json, os

def pytest_runtest_logreport(report):
    with open(os.environ["{_OUTCOMES_VARIABLE}"], "a", encoding="utf-8") as file:
        file.write(json.dumps([report.nodeid, report.when, report.outcome]) + "\\n")
'''
_OPTIONS: Final = ("-q", "-p", "no:cacheprovider", "-p", "coderag_outcomes", "--continue-on-collection-errors")


@dataclass(frozen=True, slots=True)
class PytestSetup:
    """Set-up of the runs in a repository.

    Attributes:
        python: Interpreter of an environment with the repository's test dependencies, but not the repository itself.
        import_path: Folder of its packages, relative to its root.
        arguments: Arguments of pytest, such as the folder of the tests.
        timeout_s: Time limit of a run in seconds.
    """

    python: Path
    import_path: str = "."
    arguments: tuple[str, ...] = ()
    timeout_s: float = 300


def run_pytest(root: Path, setup: PytestSetup) -> Mapping[str, Outcome] | None:
    """Run the tests of a checkout; return the outcome by test function, None after the time limit.

    Cases of a parametrized function are counted together: it fails if any case fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "coderag_outcomes.py").write_text(_PLUGIN, encoding="utf-8")
        outcomes = Path(folder, "outcomes.jsonl")
        path = os.pathsep.join([str(root / setup.import_path), folder])
        environment = {
            **os.environ,
            "PYTHONPATH": path,
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            _OUTCOMES_VARIABLE: str(outcomes),
        }
        try:
            subprocess.run(
                [setup.python, "-m", "pytest", *_OPTIONS, *setup.arguments],
                cwd=root, env=environment, capture_output=True, stdin=subprocess.DEVNULL, timeout=setup.timeout_s, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None
        lines = outcomes.read_text(encoding="utf-8").splitlines() if outcomes.exists() else []
    return _merge_outcomes(json.loads(line) for line in lines)


def _merge_outcomes(reports: Iterable[Sequence[str]]) -> dict[str, Outcome]:
    merged: dict[str, Outcome] = {}
    for node_id, when, outcome in reports:
        function = node_id.partition("[")[0]
        known = merged.get(function)
        if outcome == "failed" or known == "failed":
            merged[function] = "failed"
        elif when == "call" and outcome == "passed":
            merged[function] = "passed"
        else:
            merged.setdefault(function, "skipped")
    return merged
