"""Make `.venv` with the locked versions and CodeRAG in it, editable: uv where there is one, else venv and pip.

Standard library only: this runs before anything is installed. `make` calls it; without make, on any system::

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
"""What brings almost all that commands load."""


def main() -> int:
    """Make or update the environment; return the exit code."""
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
        print(f"\nset-up stopped at: {subprocess.list2cmdline(map(str, error.cmd))}", file=sys.stderr)
        return 1
    READY.touch()
    return 0


def _with_uv(uv: str) -> bool:
    """Sync from uv.lock; False when this uv cannot, for example because it is too old for the lock file."""
    print("Set-up: .venv from uv.lock, with uv", flush=True)
    environment = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    environment["UV_PROJECT_ENVIRONMENT"] = str(VENV)
    steps = [
        [uv, "sync", *_get_quiet_arguments(), "--frozen", "--no-install-project", "--python", _find_base_python()],
        [uv, "pip", "install", "--quiet", "--python", str(PYTHON), *_get_editable_arguments()],
    ]
    for step in steps:
        if subprocess.run(step, cwd=ROOT, env=environment, check=False).returncode:
            print("uv could not do it; going on with pip", file=sys.stderr, flush=True)
            return False
    return True


def _with_pip() -> None:
    """Install requirements.lock, the same versions as uv.lock."""
    print("Set-up: .venv from requirements.lock, with pip; the first time this takes a minute or two", flush=True)
    if not _can_run("-m", "pip", "--version"):
        try:
            subprocess.run([_find_base_python(), "-m", "venv", "--clear", str(VENV)], check=True)
        except subprocess.CalledProcessError:
            print("Debian and Ubuntu keep venv in a package of its own: apt install python3-venv", file=sys.stderr)
            raise
    # pip would compile all 17,000 modules, one after the other; `_compile` knows what for.
    pip = [str(PYTHON), "-m", "pip", "install", "--no-deps", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([*pip, *_get_quiet_arguments(), "--requirement", "requirements.lock"], cwd=ROOT, check=True)
    subprocess.run([*pip, "--quiet", *_get_editable_arguments()], cwd=ROOT, check=True)


def _get_editable_arguments() -> list[str]:
    """Return the arguments that install the checkout itself, built by the locked setuptools."""
    return ["--no-deps", "--no-build-isolation", "--editable", "."]


def _get_quiet_arguments() -> list[str]:
    """Return the argument that keeps progress out of a log that nobody watches."""
    return [] if sys.stdout.isatty() else ["--quiet"]


def _find_base_python() -> str:
    """Return the interpreter below a virtual environment, which may be the very one that is to be made anew."""
    return str(getattr(sys, "_base_executable", sys.executable))


def _can_run(*arguments: str) -> bool:
    """Tell whether the environment's Python is there, new enough and runs `arguments`."""
    if not PYTHON.exists():
        return False
    new_enough = f"import sys; sys.exit(sys.version_info < {MIN_PYTHON})"
    commands = [[str(PYTHON), "-c", new_enough], [str(PYTHON), *arguments]]
    return all(subprocess.run(command, capture_output=True, check=False).returncode == 0 for command in commands)


def _check_health() -> None:
    """Fail now, not in the middle of a test, when CodeRAG or a folder mapped into it is not found."""
    check = (
        "from importlib.util import find_spec as find; assert all(map(find, ['coderag.app', 'coderag.graphs.query']))"
    )
    subprocess.run([str(PYTHON), "-c", check], cwd=VENV, check=True)


def _compile() -> None:
    """Leave byte-code, without which a command takes two to four times as long; what cannot be compiled is no failure.

    Python keeps what it compiles when it first imports it, so that importing what commands load is enough: some seconds.
    With PYTHONDONTWRITEBYTECODE, which many containers set, it would keep nothing: then all that is installed is compiled
    now, in half a minute of two processors, without the packages' tests, a fifth of it.
    """
    print("Set-up: byte-code", flush=True)
    folders = ["coderag", "graphs", "evals"]
    if os.environ.get("PYTHONDONTWRITEBYTECODE"):
        folders.append(f".venv/{'Lib' if os.name == 'nt' else 'lib'}")
    else:
        subprocess.run(
            [str(PYTHON), "-c", f"import {', '.join(PRELOADED_MODULES)}"], cwd=VENV, capture_output=True, check=False
        )
    # Relative, so that no folder above is taken for one of tests.
    command = [str(PYTHON), "-m", "compileall", "-q", "-j", "0", "-x", r"[/\\]tests?[/\\]", *folders]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
