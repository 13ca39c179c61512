"""`make` on a machine that lacks something says what it needs."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout without `.venv`, in a folder with a space in its name."""
    folder = tmp_path / "code rag"
    (folder / "tools/setup").mkdir(parents=True)
    for name in ["Makefile", "pyproject.toml", "uv.lock", "requirements.lock", "tools/setup/environment.py"]:
        shutil.copy(ROOT / name, folder / name)
    return folder


def run_make(checkout: Path, *arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    environment |= {"PATH": path} if path else {}
    command = [shutil.which("make") or "make", *arguments]
    return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)


def fake(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def test_default_target_lists_the_targets(checkout: Path) -> None:
    finished = run_make(checkout)
    assert finished.returncode == 0
    for target in ("demo", "test", "lint", "format", "clean"):
        assert f"make {target}" in finished.stdout


def test_set_up_refuses_an_old_python_and_says_why(checkout: Path, tmp_path: Path) -> None:
    fake(tmp_path / "bin", "python3", "exit 1")  # the question that make asks is answered with no
    finished = run_make(checkout, "test", path=str(tmp_path / "bin"))
    assert finished.returncode != 0
    assert "CodeRAG needs Python 3.11 or newer" in finished.stderr
    assert not (checkout / ".venv/.ready").exists()


def test_a_named_python_is_not_silently_replaced(checkout: Path) -> None:
    finished = run_make(checkout, "test", "PYTHON=no-such-python")
    assert finished.returncode != 0
    assert "no-such-python" in finished.stderr


def test_set_up_runs_once_until_the_locks_change(checkout: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    fake(
        tmp_path / "bin",
        "python",
        f'test "$1" = -c || {{ echo set-up >> "{log}"; mkdir -p .venv; touch .venv/.ready; }}',
    )
    python = f"PYTHON={tmp_path / 'bin/python'}"
    for _ in range(2):
        assert run_make(checkout, "setup", python).returncode == 0
    assert log.read_text(encoding="utf-8").count("set-up") == 1
    later = (checkout / ".venv/.ready").stat().st_mtime + 10
    os.utime(checkout / "requirements.lock", (later, later))
    assert run_make(checkout, "setup", python).returncode == 0
    assert log.read_text(encoding="utf-8").count("set-up") == 2


def test_demo_hands_over_repository_and_question_unchanged(checkout: Path) -> None:
    (checkout / ".venv").mkdir()
    fake(checkout / ".venv/bin", "coderag", 'printf "%s\\n" "$@"')
    (checkout / ".venv/.ready").touch()
    question = 'what does "Session.login" do with `token` and it\'s $HOME?'
    finished = run_make(checkout, "--silent", "demo", "REPO=my repo", f"Q={question}")
    assert finished.stdout.splitlines() == ["index", "-C", "my repo", "ask", "-C", "my repo", question]
