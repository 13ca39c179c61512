"""Lock of a repository's folder: also held by a git command that outlived its worker."""

import subprocess
import sys

import pytest

from coderag.server.repositories.folder_lock import FolderBusyError, hold_folder


def test_a_folder_is_held_by_one(tmp_path):
    with hold_folder(tmp_path / "new"):
        with pytest.raises(FolderBusyError, match="another worker"), hold_folder(tmp_path / "new"):
            pass
        with hold_folder(tmp_path / "other"):
            pass
    with hold_folder(tmp_path / "new"):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="commands inherit no locks on Windows")
def test_a_command_that_outlives_its_worker_keeps_the_folder(tmp_path):
    with hold_folder(tmp_path) as descriptors:
        orphan = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=descriptors)
    with pytest.raises(FolderBusyError, match="worker that died"), hold_folder(tmp_path):
        pass
    orphan.communicate(b"\n")
    with hold_folder(tmp_path):
        pass
