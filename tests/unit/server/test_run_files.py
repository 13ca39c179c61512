"""Run files: commands find the processes that serve a data folder, and no others."""

import json
import subprocess

from coderag.server.run_files import build_local_address, list_local_addresses, record_process
from coderag.system.subprocesses import build_python_command, build_python_environment

ANNOUNCE = """
import sys
from pathlib import Path
from coderag.server.run_files import record_process
with record_process(Path(sys.argv[1]), "http://127.0.0.1:7"):
    print("serving", flush=True)
    sys.stdin.readline()
"""


def test_processes_are_found_until_they_end_or_are_killed(tmp_path):
    assert list_local_addresses(tmp_path) == []
    with record_process(tmp_path, "http://127.0.0.1:5"):
        process = subprocess.Popen(
            [*build_python_command(ANNOUNCE), str(tmp_path)],
            env=build_python_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout.readline() == "serving\n"
        assert sorted(list_local_addresses(tmp_path)) == ["http://127.0.0.1:5", "http://127.0.0.1:7"]
        process.kill()
        process.communicate()
        assert list_local_addresses(tmp_path) == ["http://127.0.0.1:5"]
    assert list_local_addresses(tmp_path) == []
    assert list((tmp_path / "run").iterdir()) == []


def test_files_of_other_machines_and_damaged_ones_are_passed_over(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "a.json").write_text(json.dumps({"address": "http://127.0.0.1:5", "host": "elsewhere", "pid": 1}))
    (folder / "b.json").write_text("{")
    (folder / "c.json").write_text("[]")
    assert list_local_addresses(tmp_path) == []
    assert (folder / "a.json").exists()


def test_folder_that_cannot_be_written_keeps_no_server_from_starting(tmp_path):
    (tmp_path / "run").write_text("a file")
    with record_process(tmp_path, "http://127.0.0.1:5"):
        assert list_local_addresses(tmp_path) == []


def test_addresses_lead_to_this_machine():
    assert build_local_address("0.0.0.0", 80, is_encrypted=False) == "http://127.0.0.1:80"
    assert build_local_address("::", 443, is_encrypted=True) == "https://[::1]:443"
    assert build_local_address("server.example.org", 8080, is_encrypted=False) == "http://server.example.org:8080"
