"""What is done so that a command starts and ends sooner, and where it is not done."""

import gc
import subprocess
import sys

import pytest

from coderag.config.sections import IngestionSettings
from coderag.config.settings import Settings
from coderag.interfaces.cli import startup
from coderag.stores import pandas_guard
from coderag.system import gc_tuning


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take this process for one of a command alone."""
    monkeypatch.setattr(startup._Process, "is_dedicated", True)


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was done in haste."""
    done: list[str] = []
    monkeypatch.setattr(gc_tuning, "relax_gc", lambda: done.append("collector"))
    monkeypatch.setattr(pandas_guard, "avoid_pandas_import", lambda: done.append("pandas"))
    return done


@pytest.mark.usefixtures("own")
def test_a_process_of_a_command_alone_makes_haste(done: list[str]) -> None:
    startup.tune_gc()
    startup.skip_pandas(Settings())
    assert done == ["collector", "pandas"]


def test_a_program_that_calls_the_command_line_stays_as_it_is(done: list[str]) -> None:
    startup.tune_gc()
    startup.skip_pandas(Settings())
    assert done == []


@pytest.mark.usefixtures("own")
def test_transformations_of_the_user_have_pandas(done: list[str]) -> None:
    startup.skip_pandas(Settings(ingestion=IngestionSettings(transformations=("package.module:Class",))))
    assert done == []


def test_the_collector_looks_seldom_and_not_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    at_exit: list[object] = []
    monkeypatch.setattr(gc_tuning.atexit, "register", at_exit.append)
    before = gc.get_threshold()
    try:
        gc_tuning.relax_gc()
        assert gc.isenabled()
        assert gc.get_threshold() == (gc_tuning._RELAXED_THRESHOLD, *before[1:])
    finally:
        gc.set_threshold(*before)
    assert at_exit == [gc.freeze]


def test_without_pandas_pyarrow_still_makes_frames_and_others_import_it() -> None:
    script = """
import sys
from coderag.stores.pandas_guard import avoid_pandas_import
avoid_pandas_import()
import lance, pyarrow as pa
table = pa.table({"a": pa.array([1, None])})
assert "pandas" not in sys.modules
assert table.to_pandas()["a"].isna().tolist() == [False, True]
import pandas as pd
assert pa.array(pd.Series([1.0, float("nan")])).null_count == 1
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
