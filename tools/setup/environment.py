"""Create `.venv` with the locked versions and an editable CodeRAG: with uv if available, else with venv and pip.

Standard library only, because this runs before anything is installed. `make` calls it; without make, run::

    python tools/setup/environment.py
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
READY = VENV / ".ready"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
MIN_PYTHON = (3, 11)
PRELOADED_MODULES = (
    "coderag.app",
    "coderag.graphs.query",
    "coderag.answering.answers",
    "coderag.ingestion.workers.worker",
    "lance",
)
"""Modules whose imports cover almost everything that commands load."""


def main() -> int:
    """Create or update the environment; return the exit code."""
    if sys.version_info < MIN_PYTHON:
        print(f"CodeRAG needs Python 3.11 or newer; {sys.executable} is {sys.version.split()[0]}", file=sys.stderr)
        return 1
    READY.unlink(missing_ok=True)
    uv = shutil.which("uv")
    try:
        if uv is None or not _with_uv(uv):
            _with_pip()
        _check_health()
        _compile()
    except subprocess.CalledProcessError as error:
        print(f"\nset-up failed at: {subprocess.list2cmdline(map(str, error.cmd))}", file=sys.stderr)
        return 1
    READY.touch()
    return 0


def _with_uv(uv: str) -> bool:
    """Sync from uv.lock; return False if uv fails, for example because it is too old for the lock file."""
    print("Set-up: .venv from uv.lock, with uv", flush=True)
    environment = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    environment["UV_PROJECT_ENVIRONMENT"] = str(VENV)
    steps = [
        [uv, "sync", *_get_quiet_arguments(), "--frozen", "--no-install-project", "--python", _find_base_python()],
        [uv, "pip", "install", "--quiet", "--python", str(PYTHON), *_get_editable_arguments()],
    ]
    for step in steps:
        if subprocess.run(step, cwd=ROOT, env=environment, check=False).returncode:
            print("uv failed; continuing with pip", file=sys.stderr, flush=True)
            return False
    return True


def _with_pip() -> None:
    """Install requirements.lock, the same versions as uv.lock."""
    print("Set-up: .venv from requirements.lock, with pip; the first time this takes a minute or two", flush=True)
    if not _can_run("-m", "pip", "--version"):
        try:
            subprocess.run([_find_base_python(), "-m", "venv", "--clear", str(VENV)], check=True)
        except subprocess.CalledProcessError:
            print("On Debian and Ubuntu, venv is a separate package: apt install python3-venv", file=sys.stderr)
            raise
    # pip would compile all 17,000 modules sequentially; `_compile` compiles only what commands load.
    pip = [str(PYTHON), "-m", "pip", "install", "--no-deps", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([*pip, *_get_quiet_arguments(), "--requirement", "requirements.lock"], cwd=ROOT, check=True)
    subprocess.run([*pip, "--quiet", *_get_editable_arguments()], cwd=ROOT, check=True)


def _get_editable_arguments() -> list[str]:
    """Return the arguments that install the checkout, built by the locked setuptools."""
    return ["--no-deps", "--no-build-isolation", "--editable", "."]


def _get_quiet_arguments() -> list[str]:
    """Return the argument that keeps progress bars out of logs."""
    return [] if sys.stdout.isatty() else ["--quiet"]


def _find_base_python() -> str:
    """Return the base interpreter, because the active virtual environment may be the one to recreate."""
    return str(getattr(sys, "_base_executable", sys.executable))


def _can_run(*arguments: str) -> bool:
    """Return whether the environment's Python exists, is new enough and runs `arguments` successfully."""
    if not PYTHON.exists():
        return False
    new_enough = f"import sys; sys.exit(sys.version_info < {MIN_PYTHON})"
    commands = [[str(PYTHON), "-c", new_enough], [str(PYTHON), *arguments]]
    return all(subprocess.run(command, capture_output=True, check=False).returncode == 0 for command in commands)


def _check_health() -> None:
    """Fail early if CodeRAG or a folder mapped into it cannot be imported."""
    check = (
        "from importlib.util import find_spec as find; assert all(map(find, ['coderag.app', 'coderag.graphs.query']))"
    )
    subprocess.run([str(PYTHON), "-c", check], cwd=VENV, check=True)


def _compile() -> None:
    """Write byte-code, without which a command takes two to four times as long; compile errors are ignored.

    Importing the modules that commands load takes some seconds and leaves their byte-code. With PYTHONDONTWRITEBYTECODE,
    which many containers set, imports leave none. Then all installed packages are compiled without their tests, which
    takes half a minute on two cores.
    """
    print("Set-up: byte-code", flush=True)
    folders = ["coderag", "graphs", "evals"]
    if os.environ.get("PYTHONDONTWRITEBYTECODE"):
        folders.append(f".venv/{'Lib' if os.name == 'nt' else 'lib'}")
    else:
        subprocess.run(
            [str(PYTHON), "-c", f"import {', '.join(PRELOADED_MODULES)}"], cwd=VENV, capture_output=True, check=False
        )
    # relative, so that the pattern does not match a parent folder
    command = [str(PYTHON), "-m", "compileall", "-q", "-j", "0", "-x", r"[/\\]tests?[/\\]", *folders]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
