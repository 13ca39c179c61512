import subprocess
import sys
from pathlib import Path

import pytest

import coderag
from coderag.system.subprocesses import build_python_command, build_python_environment, describe_exit

REPORT = "import json, os, sys; import coderag; print(coderag.__file__); print(os.environ['MINE'])"


def test_a_process_imports_what_this_one_does_and_nothing_of_the_folder_it_is_in(tmp_path: Path) -> None:
    (tmp_path / "coderag.py").write_text("raise SystemExit('imported from a repository')")
    done = subprocess.run(
        build_python_command(REPORT),
        env=build_python_environment(MINE="yes"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == [coderag.__file__, "yes"], done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_a_process_that_a_signal_ended_is_told_by_its_name() -> None:
    assert describe_exit(-9) == "SIGKILL"


@pytest.mark.parametrize("code", [0, 3, -9999])
def test_any_other_end_is_told_by_its_code(code: int) -> None:
    assert describe_exit(code) == f"exit code {code}"
