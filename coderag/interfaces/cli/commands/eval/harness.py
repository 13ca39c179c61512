"""Lazy access to the evaluation harness, which is installed as ``coderag.evals``.

``harness.runs`` is its module ``runs``, imported on first use.
"""

# ruff: noqa: PLC0414  # a redundant alias makes a name public for type checkers
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evals import coderag_engine as coderag_engine
    from evals import comparison as comparison
    from evals import engines as engines
    from evals import golden as golden
    from evals import mining as mining
    from evals import report_html as report_html
    from evals import report_markdown as report_markdown
    from evals import repository as repository
    from evals import runner as runner
    from evals import runs as runs
    from evals import settings_edit as settings_edit
    from evals import tables as tables
    from evals import thresholds as thresholds
    from evals import tuning as tuning


def __getattr__(name: str) -> ModuleType:
    if name.startswith("_"):
        raise AttributeError(name)
    return import_module(f"coderag.evals.{name}")
