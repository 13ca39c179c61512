"""Backups and restores that are killed: nothing looks like one, and the next attempt succeeds."""

import subprocess

import pytest

from coderag.errors import ConfigurationError
from coderag.server.backup import create_backup, verify_backup
from coderag.server.restore import restore_backup
from coderag.server.storage.database import Database
from coderag.server.storage.upgrade import check_revision
from coderag.system.subprocesses import build_python_command, build_python_environment
from tests.support.server_rows import read_rows
from tests.support.servers import create_server, create_settings

PASSPHRASE = "correct horse battery"

STALL = """
import sys
from importlib import import_module
from pathlib import Path
from coderag.server.settings import ServerSettings

module, name, when, folder, url, archive = sys.argv[1:]
module = import_module(module)
work = getattr(module, name)

def stall(*arguments, **options):
    if when == "before":
        print("stalled", flush=True); sys.stdin.readline()
    result = work(*arguments, **options)
    print("stalled", flush=True); sys.stdin.readline()
    return result

setattr(module, name, stall)
settings = ServerSettings.load(data=folder, database_url=url)
if module.__name__.endswith("backup"):
    module.create_backup(settings, Path(archive), passphrase="correct horse battery")
else:
    module.restore_backup(Path(archive), settings, passphrase="correct horse battery")
"""


def kill_at(module, name, when, settings, archive):
    """Run a backup or a restore in a process, and kill it before or after one of its steps."""
    arguments = [module, name, when, str(settings.data), settings.database_url.get_secret_value(), str(archive)]
    process = subprocess.Popen(
        [*build_python_command(STALL), *arguments],
        env=build_python_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    line = process.stdout.readline()
    process.kill()
    _, errors = process.communicate()
    assert line == "stalled\n", errors


def list_visible(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


@pytest.fixture
def settings(tmp_path, database_url):
    return create_server(tmp_path / "data", database_url)


@pytest.mark.parametrize(
    ("name", "when"),
    [("copy_database", "after"), ("write_archive", "before"), ("write_archive", "after"), ("publish", "before")],
)
def test_killed_backup_leaves_no_file_of_its_name(settings, tmp_path, name, when):
    folder = tmp_path / "backups"
    folder.mkdir()
    kill_at("coderag.server.backup", name, when, settings, folder / "monday.tar.gz")
    assert list_visible(folder) == []
    create_backup(settings, folder / "monday.tar.gz")
    assert [path.name for path in folder.iterdir() if path.is_dir()] == []
    verify_backup(folder / "monday.tar.gz")


def test_backup_that_is_killed_after_its_end_is_complete(settings, tmp_path):
    kill_at("coderag.server.backup", "publish", "after", settings, tmp_path / "monday.tar.gz")
    verify_backup(tmp_path / "monday.tar.gz")


@pytest.mark.parametrize(
    ("name", "when"),
    [
        ("extract_archive", "after"),
        ("_place_counter", "after"),
        ("_create_file", "after"),
        ("complete_copy", "before"),
        ("complete_copy", "after"),
    ],
)
def test_killed_restore_leaves_no_server_and_is_done_again(tmp_path, name, when):
    archive = tmp_path / "monday.tar.gz"
    settings = create_server(tmp_path / "data")
    create_backup(settings, archive, passphrase=PASSPHRASE)
    new = create_settings(tmp_path / "new")
    kill_at("coderag.server.restore", name, when, new, archive)
    assert not (new.data / "server.sqlite").exists()
    restore_backup(archive, new, passphrase=PASSPHRASE)
    assert [path.name for path in new.data.iterdir() if path.is_dir()] == []
    database = Database(new.url)
    check_revision(database)
    assert read_rows(database)["users"]
    database.close()


def test_restore_that_is_killed_after_the_load_is_no_server(tmp_path, postgres_server, postgres_url):
    archive = tmp_path / "monday.tar.gz"
    create_backup(create_server(tmp_path / "data", postgres_url), archive, passphrase=PASSPHRASE)
    new = create_settings(tmp_path / "new", postgres_server.create_database())
    kill_at("coderag.server.restore", "load_database", "after", new, archive)
    database = Database(new.url)
    with pytest.raises(ConfigurationError, match="tables without a revision") as caught:
        check_revision(database)
    assert "a restore was cut short" in caught.value.hint
    database.close()
    postgres_server.drop_database(new.url)
    again = create_settings(tmp_path / "new", postgres_server.create_database())
    restore_backup(archive, again, passphrase=PASSPHRASE)
    postgres_server.drop_database(again.url)
