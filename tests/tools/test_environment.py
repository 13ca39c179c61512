"""The set-up leaves byte-code, also where Python is told to write none."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "setup" / "environment.py"


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The set-up script, for a checkout in a folder called ``test``, with something installed."""
    spec = importlib.util.spec_from_file_location("environment", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    root = tmp_path / "test" / "checkout"
    packages = root / ".venv" / ("Lib" if sys.platform == "win32" else "lib") / "python" / "site-packages"
    for name in ("graphs/a.py", "evals/a.py", "coderag/a.py"):
        put(root / name, "x = 1\n")
    put(packages / "installed/a.py", "x = 1\n")
    put(packages / "installed/damaged.py", "x =\n")
    put(packages / "installed/tests/a.py", "x = 1\n")
    monkeypatch.setattr(module, "ROOT", root)
    monkeypatch.setattr(module, "VENV", root / ".venv")
    monkeypatch.setattr(module, "PYTHON", Path(sys.executable))
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    return module


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("forbidden", ["", "1"])
def test_what_python_would_not_keep_itself_is_compiled(
    environment: ModuleType, monkeypatch: pytest.MonkeyPatch, forbidden: str
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", forbidden)
    monkeypatch.setattr(environment, "PRELOADED_MODULES", ("a_module_that_is_not_there",))
    environment._compile()  # that something cannot be imported or compiled is no failure
    compiled = {path.parents[1].name for path in environment.ROOT.rglob("*.pyc")}
    assert compiled == {"coderag", "graphs", "evals", *(["installed"] if forbidden else [])}
