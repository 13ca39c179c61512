"""Backups: consistent, checked, and restored into nothing but an empty place."""

import gzip
import io
import json
import re
import shutil
import sqlite3
import tarfile
import threading

import pytest
from pydantic import SecretStr
from sqlalchemy import select, update

from coderag.errors import CodeRAGError, ConfigurationError, DatabaseUnavailableError, ServerError
from coderag.server import backup as backups
from coderag.server import restore as restores
from coderag.server.backup import create_backup, verify_backup
from coderag.server.backup_archive import read_manifest
from coderag.server.restore import restore_backup
from coderag.server.storage.database import Database
from coderag.server.storage.models import ApiKey, HostedRepository, Job, Team
from coderag.server.storage.upgrade import VERSION_TABLE, check_revision, get_newest_revision
from tests.support.server_rows import read_rows
from tests.support.servers import create_server, create_settings

PASSPHRASE = "correct horse battery"
ENDED = {"browser_sessions", "sign_in_attempts", "api_keys", "jobs", "repositories"}


@pytest.fixture
def settings(tmp_path, database_url):
    return create_server(tmp_path / "data", database_url)


@pytest.fixture
def small(tmp_path):
    """A server on SQLite, for what does not depend on the system."""
    return create_server(tmp_path / "data")


@pytest.fixture
def new_settings(request, tmp_path, settings):
    """Settings of a new and empty server of the same kind."""
    if settings.database_url.get_secret_value():
        server = request.getfixturevalue("postgres_server")
        url = server.create_database()
        yield create_settings(tmp_path / "new", url)
        server.drop_database(url)
    else:
        yield create_settings(tmp_path / "new")


@pytest.fixture
def target(tmp_path):
    (tmp_path / "backups").mkdir()
    return tmp_path / "backups" / "monday.tar.gz"


def read_server(settings):
    database = Database(settings.url)
    try:
        return read_rows(database)
    finally:
        database.close()


def list_names(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def test_restored_server_has_all_that_lives_on(settings, new_settings, target):
    (settings.data / "audit.counter").write_text("7")
    rows = read_server(settings)
    manifest = create_backup(settings, target, passphrase=PASSPHRASE)
    assert (manifest.repositories, manifest.has_key, manifest.revision) == (2, True, get_newest_revision())
    report = restore_backup(target, new_settings, passphrase=PASSPHRASE)
    assert (report.has_key, report.manifest) == (True, manifest)
    restored = read_server(new_settings)
    assert {name: restored[name] for name in rows.keys() - ENDED} == {name: rows[name] for name in rows.keys() - ENDED}
    assert (new_settings.data / "master.key").read_bytes() == (settings.data / "master.key").read_bytes()
    assert (new_settings.data / "audit.counter").read_text() == "7"
    for path in new_settings.data.iterdir():
        assert path.stat().st_mode & 0o077 == 0 or path.suffix == ".lock", path
    database = Database(new_settings.url)
    check_revision(database)
    database.close()


def test_restored_server_ends_sessions_and_fetches_all_repositories(settings, new_settings, target):
    create_backup(settings, target, passphrase=PASSPHRASE)
    restore_backup(target, new_settings, passphrase=PASSPHRASE)
    restored = read_server(new_settings)
    assert restored["browser_sessions"] == restored["sign_in_attempts"] == []
    database = Database(new_settings.url)
    with database.read() as session:
        assert session.scalars(select(ApiKey.name)).all() == ["laptop"]
        assert {each.commit for each in session.scalars(select(HostedRepository))} == {""}
        open_jobs = session.scalars(select(Job).where(Job.state != "done")).all()
        assert sorted((job.repository_id, job.state, job.reason) for job in open_jobs) == [
            ("r1", "queued", "add"),
            ("r2", "queued", "add"),
        ]
    database.close()


def test_backup_is_of_one_moment_while_others_write(settings, new_settings, target):
    """Two rows are always changed together; a copy that mixes two moments would have different ones."""
    database, stop = Database(settings.url), threading.Event()

    def write():
        number = 0
        while not stop.is_set():
            number += 1
            with database.begin() as session:
                session.execute(update(Team).values(name=f"{number}"))
                session.execute(update(ApiKey).where(ApiKey.id == "k1").values(name=f"{number}"))

    thread = threading.Thread(target=write)
    thread.start()
    try:
        create_backup(settings, target, passphrase=PASSPHRASE)
    finally:
        stop.set()
        thread.join()
        database.close()
    restore_backup(target, new_settings, passphrase=PASSPHRASE)
    restored = Database(new_settings.url)
    with restored.read() as session:
        names = [session.scalar(select(Team.name)), session.scalar(select(ApiKey.name))]
    restored.close()
    assert names[0] == names[1]


def test_backup_lists_repositories_and_no_secret(settings, target):
    key = (settings.data / "master.key").read_bytes().strip()
    create_backup(settings, target, passphrase=PASSPHRASE)
    with tarfile.open(target) as archive:
        members = {info.name: archive.extractfile(info).read() for info in archive}
        assert {(info.uid, info.uname) for info in archive} == {(0, "")}
    assert [each["name"] for each in json.loads(members["repositories.json"])] == ["shop", "дом"]
    assert not any(key in content or PASSPHRASE.encode() in content for content in members.values())
    assert target.stat().st_mode & 0o077 == 0
    assert list_names(target.parent) == ["monday.tar.gz"]


def test_key_can_be_left_out_and_put_in_place_by_hand(small, tmp_path, target):
    assert not create_backup(small, target).has_key
    new = create_settings(tmp_path / "new")
    with pytest.raises(ConfigurationError, match="key of this backup is missing") as caught:
        restore_backup(target, new)
    assert "Put it there" in caught.value.hint
    with pytest.raises(ConfigurationError, match="holds no master key"):
        restore_backup(target, new, passphrase=PASSPHRASE)
    shutil.copy(small.data / "master.key", new.data / "master.key")
    assert restore_backup(target, new).has_key


def test_restore_without_the_key_is_a_choice(small, tmp_path, target):
    create_backup(small, target)
    report = restore_backup(target, create_settings(tmp_path / "new"), allow_missing_key=True)
    assert not report.has_key
    assert list_names(tmp_path / "new") == ["server.sqlite"]


@pytest.mark.parametrize("passphrase", ["wrong horse battery", None])
def test_wrong_passphrase_restores_nothing(small, tmp_path, target, passphrase):
    create_backup(small, target, passphrase=PASSPHRASE)
    with pytest.raises(ConfigurationError, match=r"passphrase|is missing"):
        restore_backup(target, create_settings(tmp_path / "new"), passphrase=passphrase)
    assert list_names(tmp_path / "new") == []
    restore_backup(target, create_settings(tmp_path / "new"), passphrase=PASSPHRASE)


def test_short_passphrase_is_refused(small, target):
    with pytest.raises(ConfigurationError, match="has 6 characters, and needs 12"):
        create_backup(small, target, passphrase="secret")
    assert list_names(target.parent) == []


def test_another_key_in_place_is_refused(small, tmp_path, target):
    create_backup(small, target, passphrase=PASSPHRASE)
    other = create_server(tmp_path / "other")
    (other.data / "server.sqlite").unlink()
    for left in other.data.glob("server.sqlite-*"):
        left.unlink()
    before = (other.data / "master.key").read_bytes()
    with pytest.raises(ConfigurationError, match="is not the master key of this backup"):
        restore_backup(target, other, passphrase=PASSPHRASE)
    assert (other.data / "master.key").read_bytes() == before


def test_nothing_is_overwritten(settings, target):
    rows = read_server(settings)
    create_backup(settings, target, passphrase=PASSPHRASE)
    content = target.read_bytes()
    with pytest.raises(ConfigurationError, match="exists already"):
        create_backup(settings, target)
    with pytest.raises(ConfigurationError, match=r"not empty|exists already"):
        restore_backup(target, settings, passphrase=PASSPHRASE)
    assert target.read_bytes() == content
    assert read_server(settings) == rows


def test_folder_with_other_files_is_left_alone(small, tmp_path, target):
    create_backup(small, target, passphrase=PASSPHRASE)
    new = create_settings(tmp_path / "new")
    (new.data / "repositories").mkdir(parents=True)
    with pytest.raises(ConfigurationError, match="is not empty: it has repositories"):
        restore_backup(target, new, passphrase=PASSPHRASE)
    assert list_names(new.data) == ["repositories"]


def test_postgres_database_with_tables_is_left_alone(postgres_url, postgres_server, tmp_path, target):
    settings = create_server(tmp_path / "data", postgres_url)
    create_backup(settings, target, passphrase=PASSPHRASE)
    url = postgres_server.create_database()
    postgres_server.execute("CREATE TABLE mine (id INTEGER)", url.rpartition("/")[2])
    with pytest.raises(ConfigurationError, match="is not empty: it has the tables mine"):
        restore_backup(target, create_settings(tmp_path / "new", url), passphrase=PASSPHRASE)
    assert not (tmp_path / "new").exists()
    postgres_server.drop_database(url)


def test_backup_of_another_system_is_refused(small, tmp_path, target, postgres_url):
    create_backup(small, target, passphrase=PASSPHRASE)
    with pytest.raises(ConfigurationError, match="the backup is of sqlite, and the settings name postgresql"):
        restore_backup(target, create_settings(tmp_path / "new", postgres_url), passphrase=PASSPHRASE)


def test_counter_that_is_kept_elsewhere_stays(small, tmp_path, target):
    """It shows which entries were written after the backup."""
    (small.data / "audit.counter").write_text("7")
    create_backup(small, target, passphrase=PASSPHRASE)
    (tmp_path / "counter").write_text("9")
    new = create_settings(tmp_path / "new").model_copy(
        update={"audit": small.audit.model_copy(update={"counter_file": tmp_path / "counter"})}
    )
    restore_backup(target, new, passphrase=PASSPHRASE)
    assert (tmp_path / "counter").read_text() == "9"
    assert not (new.data / "audit.counter").exists()


@pytest.mark.parametrize("change", ["cut", "flip", "empty", "text", "trailing"])
def test_damage_is_noticed(small, tmp_path, target, change):
    create_backup(small, target, passphrase=PASSPHRASE)
    content = target.read_bytes()
    half = len(content) // 2
    target.write_bytes(
        {
            "cut": content[:-20],
            "flip": content[:half] + bytes([content[half] ^ 1]) + content[half + 1 :],
            "empty": b"",
            "text": b"no backup\n",
            "trailing": content + b"garbage",
        }[change]
    )
    with pytest.raises(ServerError, match=re.escape(str(target))):
        verify_backup(target)
    with pytest.raises(ServerError):
        restore_backup(target, create_settings(tmp_path / "new"), passphrase=PASSPHRASE)
    assert not (tmp_path / "new").exists()


def rewrite(target, change):
    """Write an archive again after a change of its members, a list of names and contents."""
    with tarfile.open(target) as archive:
        members = [(info, archive.extractfile(info).read()) for info in archive]
    members = change([(info.name, content) for info, content in members])
    with gzip.open(target, "wb") as stream, tarfile.open(fileobj=stream, mode="w|") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def edit_manifest(old, new):
    return lambda members: [(members[0][0], members[0][1].replace(old, new)), *members[1:]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda members: members[:-1], "is missing"),
        (lambda members: members[1:], "is no backup of CodeRAG"),
        (lambda members: [*members, members[-1]], "not in its manifest"),
        (lambda members: [*members, ("../evil", b"x")], "not in its manifest"),
        (lambda members: [*members[:-1], (members[-1][0], b"other")], "differs from its checksum"),
        (edit_manifest(b"repositories.json", b"../../evil.json"), "names other files"),
        (edit_manifest(b"database.sqlite", b"master.key.sealed"), "names other files"),
        (edit_manifest(b'"format": 1', b'"format": 2'), "whose format this version does not know"),
        (edit_manifest(b'"revision"', b'"revisions"'), "manifest cannot be read"),
        (edit_manifest(b"{", b"["), "manifest cannot be read"),
    ],
)
def test_archive_that_differs_from_its_manifest_is_refused(small, tmp_path, target, change, message):
    create_backup(small, target, passphrase=PASSPHRASE)
    rewrite(target, change)
    with pytest.raises(ServerError, match=message):
        verify_backup(target)
    with pytest.raises(ServerError, match=message):
        restore_backup(target, create_settings(tmp_path / "new"), passphrase=PASSPHRASE)
    assert not (tmp_path / "new").exists()


def test_manifest_is_read_alone(small, target):
    manifest = create_backup(small, target)
    assert read_manifest(target) == verify_backup(target) == manifest


def test_missing_file_is_named(tmp_path):
    with pytest.raises(ServerError, match="no such file"):
        verify_backup(tmp_path / "none.tar.gz")


def test_backup_of_a_newer_revision_is_refused(small, tmp_path, target):
    database = Database(small.url)
    with database.begin() as session:
        session.connection().exec_driver_sql(f"UPDATE {VERSION_TABLE} SET version_num = 'f00d'")
    database.close()
    create_backup(small, target, passphrase=PASSPHRASE)
    with pytest.raises(ConfigurationError, match="f00d, which this version of CodeRAG does not know"):
        restore_backup(target, create_settings(tmp_path / "new"), passphrase=PASSPHRASE)


@pytest.mark.parametrize(
    ("name", "message"), [("monday.zip", r"does not end in \.tar\.gz"), ("none/monday.tar.gz", "no such folder")]
)
def test_target_that_cannot_be_is_refused(small, tmp_path, name, message):
    with pytest.raises(ConfigurationError, match=message):
        create_backup(small, tmp_path / name)


def test_server_without_database_key_or_tables_is_told(tmp_path, target):
    settings = create_settings(tmp_path / "data")
    with pytest.raises(ConfigurationError, match=r"master\.key: no such file"):
        create_backup(settings, target)
    created = create_server(tmp_path / "data")
    (created.data / "server.sqlite").unlink()
    with pytest.raises(ConfigurationError, match=r"server\.sqlite: no such database"):
        create_backup(settings, target)
    sqlite3.connect(created.data / "server.sqlite").close()
    with pytest.raises(ConfigurationError, match="no tables"):
        create_backup(settings, target)
    assert list_names(target.parent) == []


def test_damaged_database_makes_no_backup(small, target):
    path = small.data / "server.sqlite"
    content = bytearray(path.read_bytes())
    content[4_096 * 5 : 4_096 * 20] = b"\x55" * 4_096 * 15
    path.write_bytes(content)
    with pytest.raises(ServerError, match=r"damaged|cannot be copied"):
        create_backup(small, target)
    assert list_names(target.parent) == []


def test_second_backup_at_once_is_refused(small, target):
    with backups.lock_folder(target.parent, ".coderag-backup.lock"), pytest.raises(ServerError, match="at work here"):
        create_backup(small, target)
    create_backup(small, target)


def test_full_disk_leaves_nothing(small, target, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backups, "write_archive", refuse)
    with pytest.raises(ServerError, match="No space left on device"):
        create_backup(small, target)
    assert list_names(target.parent) == []


def test_missing_programs_of_postgres_are_named(postgres_url, tmp_path, target, monkeypatch):
    settings = create_server(tmp_path / "data", postgres_url)
    create_backup(settings, target, passphrase=PASSPHRASE)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ConfigurationError, match="pg_dump is not installed"):
        create_backup(settings, target.with_name("tuesday.tar.gz"))
    assert list_names(target.parent) == ["monday.tar.gz"]


def test_password_is_no_argument_of_the_program(postgres_url, tmp_path, target, monkeypatch):
    settings = create_server(tmp_path / "data", postgres_url.replace("coderag@", "coderag:hunter2@"))
    program = tmp_path / "pg_dump"
    program.write_text('#!/bin/sh\necho "arguments: $*" >&2\ntest "$PGPASSWORD" = hunter2 || echo none >&2\nexit 1\n')
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(program))
    with pytest.raises(ServerError, match="pg_dump failed: arguments: --no-password") as caught:
        create_backup(settings, target)
    assert "hunter2" not in str(caught.value)
    assert "none" not in str(caught.value)


def test_postgres_that_is_away_is_an_outage(postgres_server, postgres_url, tmp_path, target):
    settings = create_server(tmp_path / "data", postgres_url)
    create_backup(settings, target, passphrase=PASSPHRASE)
    with postgres_server.stopped():
        with pytest.raises(DatabaseUnavailableError):
            create_backup(settings, target.with_name("tuesday.tar.gz"))
        with pytest.raises(DatabaseUnavailableError):
            restore_backup(target, create_settings(tmp_path / "new", postgres_url), passphrase=PASSPHRASE)
    assert list_names(target.parent) == ["monday.tar.gz"]


def test_failed_load_leaves_the_database_empty(postgres_server, postgres_url, tmp_path, target):
    """Rows that break a reference, as in a dump that was tampered with, fail late."""
    settings = create_server(tmp_path / "data", postgres_url)
    database = Database(settings.url)
    reference = "FOREIGN KEY (user_id) REFERENCES users (id) NOT VALID"
    with database.begin() as session:
        session.connection().exec_driver_sql("ALTER TABLE memberships DROP CONSTRAINT fk_memberships_user_id")
        session.connection().exec_driver_sql("UPDATE memberships SET user_id = 'gone'")
        session.connection().exec_driver_sql(f"ALTER TABLE memberships ADD CONSTRAINT broken {reference}")
        session.connection().exec_driver_sql("UPDATE pg_constraint SET convalidated = true")
    database.close()
    create_backup(settings, target, passphrase=PASSPHRASE)
    url = postgres_server.create_database()
    new = create_settings(tmp_path / "new", url)
    with pytest.raises(CodeRAGError, match="pg_restore failed"):
        restore_backup(target, new, passphrase=PASSPHRASE)
    assert postgres_server.execute(
        "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", url.rpartition("/")[2]
    ) == [(0,)]
    postgres_server.drop_database(url)


def test_folder_that_cannot_be_written_is_named(small, tmp_path, target):
    create_backup(small, target, passphrase=PASSPHRASE)
    (tmp_path / "file").write_text("")
    with pytest.raises(ServerError, match=r"file/data: cannot be written: Not a directory"):
        restore_backup(target, create_settings(tmp_path / "file" / "data"), passphrase=PASSPHRASE)


def test_file_system_without_hard_links_will_do(small, tmp_path, target, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(backups.os, "link", refuse)
    create_backup(small, target, passphrase=PASSPHRASE)
    restore_backup(target, create_settings(tmp_path / "new"), passphrase=PASSPHRASE)
    verify_backup(target)
    (tmp_path / "staged").write_text("new")
    with pytest.raises(FileExistsError):
        backups.publish(tmp_path / "staged", target)
    verify_backup(target)


def test_folder_instead_of_a_backup_is_named(tmp_path):
    with pytest.raises(ServerError, match="cannot be read: Is a directory"):
        verify_backup(tmp_path)


def test_database_that_appears_meanwhile_is_not_overwritten(small, tmp_path, target, monkeypatch):
    """Between the check and the end, somebody else sets up a server."""
    create_backup(small, target, passphrase=PASSPHRASE)
    new = create_settings(tmp_path / "new")
    extract_archive = restores.extract_archive

    def extract_slowly(archive, folder):
        (new.data / "server.sqlite").write_bytes(b"theirs")
        return extract_archive(archive, folder)

    monkeypatch.setattr(restores, "extract_archive", extract_slowly)
    with pytest.raises(ServerError, match="cannot be written: File exists"):
        restore_backup(target, new, passphrase=PASSPHRASE)
    assert (new.data / "server.sqlite").read_bytes() == b"theirs"


def test_key_in_a_folder_of_its_own_is_restored_there(small, tmp_path, target):
    create_backup(small, target, passphrase=PASSPHRASE)
    path = tmp_path / "etc" / "master.key"
    new = create_settings(tmp_path / "new").model_copy(update={"key_file": path})
    restore_backup(target, new, passphrase=PASSPHRASE)
    assert path.read_bytes() == (small.data / "master.key").read_bytes()
    assert path.stat().st_mode & 0o077 == 0
    assert list_names(new.data) == ["server.sqlite"]


def test_key_that_is_not_of_its_database_is_refused(small, tmp_path, target):
    create_backup(small, target, passphrase=PASSPHRASE)
    fingerprint = read_manifest(target).key_fingerprint.encode()
    rewrite(target, edit_manifest(fingerprint, b"0" * len(fingerprint)))
    with pytest.raises(ServerError, match="is not that of its database"):
        restore_backup(target, create_settings(tmp_path / "new"), passphrase=PASSPHRASE)
    assert list_names(tmp_path / "new") == []


def test_database_of_sqlite_that_is_elsewhere_is_restored_there(small, tmp_path, target):
    create_backup(small, target, passphrase=PASSPHRASE)
    new = create_settings(tmp_path / "new").model_copy(
        update={"database_url": SecretStr(f"sqlite:///{tmp_path / 'disk/elsewhere.sqlite'}")}
    )
    restore_backup(target, new, passphrase=PASSPHRASE)
    assert read_server(new)["users"]
    (new.data / "master.key").unlink()
    with pytest.raises(ConfigurationError, match=r"elsewhere\.sqlite: exists already"):
        restore_backup(
            target, create_settings(tmp_path / "other").model_copy(update={"database_url": new.database_url})
        )
