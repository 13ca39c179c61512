"""An index is shared by machines through object storage, and nothing is ever lost or half."""

import json
import logging
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from coderag import CodeRAG
from coderag.engine.doctor.examination import Examination
from coderag.engine.doctor.report import Check
from coderag.errors import (
    ConfigurationError,
    IndexNotFoundError,
    ObjectStorageError,
    ObjectStorageUnavailableError,
    PublishConflictError,
)
from coderag.stores.index_store import IndexStore
from coderag.stores.object_storage.bucket import Bucket
from coderag.stores.object_storage.collector import collect_unused
from coderag.stores.object_storage.object_index import ObjectIndex
from tests.support.faulty_proxy import FaultyProxy
from tests.support.index_world import World
from tests.support.object_store import SECRET_KEY, make_settings

BIG = " ".join(f"word{number * 7919}" for number in range(9_000))
is_thorough = pytest.mark.skipif(
    not os.environ.get("CODERAG_TEST_STORAGE_KILLS"), reason="takes long; set CODERAG_TEST_STORAGE_KILLS=50"
)
TREE = {"a.py": ["alpha beta", BIG], "b.py": ["gamma"]}


def _store(tmp_path: Path, machine: str) -> IndexStore:
    return IndexStore(tmp_path / machine / ".coderag")


def _read_generation(store: IndexStore) -> dict[str, bytes]:
    pointer = store.read_pointer()
    assert pointer is not None
    return {name: (store.directory / "v1" / name).read_bytes() for name in pointer.contents}


def _open_bucket(endpoint: str, prefix: str) -> Bucket:
    return Bucket(make_settings(endpoint, prefix))


def test_reader_gets_the_writers_index_byte_for_byte(open_index, world: World, tmp_path: Path) -> None:
    writer, reader = _store(tmp_path, "writer"), _store(tmp_path, "reader")
    world.write(writer, TREE)
    assert open_index("writer").push().changed
    report = open_index("reader").pull()
    assert report.fetched_bytes == report.bytes
    assert _read_generation(reader) == _read_generation(writer)
    world.check(reader.open(), TREE)
    assert not open_index("writer").push().changed
    assert open_index("reader").status().state == "equal"


def test_a_machine_continues_on_the_generation_of_another(open_index, world: World, tmp_path: Path) -> None:
    world.write(_store(tmp_path, "first"), TREE)
    open_index("first").push()
    open_index("second").pull()
    with _store(tmp_path, "second").open_writer() as writer:
        writer.remove(["b.py"])
        world.add(writer, {"b.py": ["delta"]})
        world.commit(writer, changed := {"a.py": TREE["a.py"], "b.py": ["delta"]})
    report = open_index("second").push()
    assert report.changed
    assert report.uploaded_bytes < report.bytes
    open_index("first").refresh()
    world.check(_store(tmp_path, "first").open(), changed)


def test_forks_share_their_blobs(open_index, world: World, tmp_path: Path) -> None:
    world.write(_store(tmp_path, "main"), TREE)
    open_index("main").push()
    open_index("main2", repository="shop").pull()
    report = open_index("main2", repository="fork").push()
    assert report.changed
    assert report.uploaded_bytes == 0


def test_of_three_writers_exactly_the_first_wins_and_the_rest_are_told(open_index, tmp_path: Path) -> None:
    indexes = []
    for number in range(3):
        World().write(_store(tmp_path, f"m{number}"), {f"{number}.py": [f"text{number}"]})
        indexes.append(open_index(f"m{number}"))

    def push(index: ObjectIndex) -> str:
        try:
            index.push()
        except PublishConflictError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(3) as threads:
        errors = list(threads.map(push, indexes))
    winner = errors.index("")
    assert sum(not error for error in errors) == 1
    assert all("does not build on" in error for error in errors if error)
    open_index("reader").pull()
    assert _read_generation(_store(tmp_path, "reader")) == _read_generation(_store(tmp_path, f"m{winner}"))


@is_thorough
def test_writers_that_conflict_build_on_one_another(open_index, tmp_path: Path) -> None:
    def add_file(name: str) -> None:
        store, world = _store(tmp_path, name), World()

        def run() -> None:
            with store.open_writer(timeout_s=10) as writer:
                known = {} if writer.base is None else {"x.py": ["x"], **_read_tree(store)}
                known.pop("x.py", None)
                tree = {**known, f"{name}.py": [f"text of {name}"]}
                writer.reset()
                world.terms = []
                world.add(writer, tree)
                world.commit(writer, tree)

        for _ in range(5):  # `publish_run` itself tries three times
            try:
                open_index(name).publish_run(run)
            except PublishConflictError:
                continue
            return

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(add_file, ["one", "two", "three"]))
    open_index("reader").pull()
    assert set(_read_tree(_store(tmp_path, "reader"))) == {"one.py", "two.py", "three.py"}


def _read_tree(store: IndexStore) -> dict[str, list[str]]:
    snapshot = store.open()
    paths = snapshot.read_chunks(["path"])["path"].to_pylist()
    return {path: [text] for path, text in zip(paths, snapshot.read_texts(range(len(paths))), strict=True)}


def test_a_copy_that_lies_is_repaired(open_index, world: World, tmp_path: Path) -> None:
    world.write(_store(tmp_path, "writer"), TREE)
    open_index("writer").push()
    open_index("reader").pull()
    reader = _store(tmp_path, "reader")
    good = _read_generation(reader)
    name = max(good, key=lambda name: len(good[name]))
    path = reader.directory / "v1" / name
    path.write_bytes(good[name][:100] + b"?" + good[name][101:])  # same size, in the middle
    report = open_index("reader").pull()
    assert report.repaired_files == 1
    assert 0 < report.fetched_bytes < report.bytes
    assert _read_generation(reader) == good
    (reader.directory / "v1" / name).unlink()
    open_index("reader").refresh()  # as before a search
    assert _read_generation(reader) == good


@is_thorough
def test_unpublished_changes_are_not_replaced_by_a_search(open_index, world: World, tmp_path: Path) -> None:
    world.write(_store(tmp_path, "writer"), TREE)
    open_index("writer").push()
    World().write(_store(tmp_path, "other"), {"mine.py": ["mine"]})
    open_index("other").refresh()
    assert open_index("other").status().state == "diverged"
    assert _read_tree(_store(tmp_path, "other")) == {"mine.py": ["mine"]}
    open_index("other").pull()
    World().check(_store(tmp_path, "other").open(), TREE)


def test_throttling_is_waited_for_and_reported(open_index, proxy: FaultyProxy, world: World, tmp_path: Path) -> None:
    world.write(_store(tmp_path, "writer"), TREE)
    rng = random.Random(3)
    proxy.fault = lambda method, path: "slow down" if rng.random() < 0.2 else ""
    open_index("writer", address=proxy.address).push()
    open_index("reader", address=proxy.address).pull()
    assert _read_generation(_store(tmp_path, "reader")) == _read_generation(_store(tmp_path, "writer"))
    proxy.fault = lambda method, path: "slow down"
    with pytest.raises(ObjectStorageUnavailableError, match="overloaded"):
        open_index("late", address=proxy.address, timeout_s=0.5).pull()


@is_thorough
def test_timeout_is_reported_and_a_reader_keeps_its_copy(
    open_index, proxy: FaultyProxy, world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world.write(_store(tmp_path, "writer"), TREE)
    open_index("writer").push()
    open_index("reader", address=proxy.address).pull()
    proxy.fault = lambda method, path: "hang"
    with pytest.raises(ObjectStorageUnavailableError, match=r"no reply|cannot be reached"):
        open_index("new", address=proxy.address, timeout_s=0.4).refresh()
    with caplog.at_level(logging.DEBUG):
        open_index("reader", address=proxy.address, timeout_s=0.4).refresh()
    assert "of this machine" in caplog.text
    assert SECRET_KEY not in caplog.text
    world.check(_store(tmp_path, "reader").open(), TREE)


def test_lost_reply_of_the_commit_is_no_conflict(open_index, proxy: FaultyProxy, world: World, tmp_path: Path) -> None:
    world.write(_store(tmp_path, "writer"), TREE)
    lost = []

    def lose_first(method: str, path: str) -> str:
        if method == "PUT" and path.endswith("CURRENT") and not lost:
            lost.append(path)
            return "lose the reply"
        return ""

    proxy.fault = lose_first
    assert open_index("writer", address=proxy.address).push().changed
    assert lost


def test_torn_download_is_repeated(open_index, proxy: FaultyProxy, world: World, tmp_path: Path) -> None:
    world.write(_store(tmp_path, "writer"), TREE)
    open_index("writer").push()
    torn = []

    def tear_some(method: str, path: str) -> str:
        if method == "GET" and "/blobs/" in path and len(torn) < 3:
            torn.append(path)
            return "tear"
        return ""

    proxy.fault = tear_some
    open_index("reader", address=proxy.address).pull()
    assert torn
    assert _read_generation(_store(tmp_path, "reader")) == _read_generation(_store(tmp_path, "writer"))


def test_torn_objects_are_named_and_repaired(
    open_index, endpoint: str, prefix: str, world: World, tmp_path: Path
) -> None:
    world.write(_store(tmp_path, "writer"), TREE)
    open_index("writer").push()
    bucket = _open_bucket(endpoint, prefix)
    victim = max(bucket.list("blobs"), key=lambda info: info.size)
    stored = bucket.get(victim.key)
    assert stored is not None
    bucket.put(victim.key, stored[0][:-10])
    with pytest.raises(ObjectStorageError, match=f"{victim.key} is damaged"):
        open_index("reader").pull()
    assert _store(tmp_path, "reader").read_pointer() is None
    open_index("writer").push(verify=True)
    open_index("reader").pull()
    assert _read_generation(_store(tmp_path, "reader")) == _read_generation(_store(tmp_path, "writer"))


def test_store_without_conditional_writes_is_refused(
    open_index, proxy: FaultyProxy, world: World, tmp_path: Path
) -> None:
    world.write(_store(tmp_path, "writer"), TREE)
    proxy.fault = lambda method, path: "ignore conditions"
    with pytest.raises(ObjectStorageError, match=r"does not honour|access denied"):
        open_index("writer", address=proxy.address).push()
    assert not any(path.endswith("CURRENT") and method == "PUT" for method, path in proxy.requests)


@is_thorough
@pytest.mark.parametrize("skew_s", [-400 * 86_400, 400 * 86_400])
def test_collection_ignores_the_clock_of_the_machine(
    open_index, endpoint: str, prefix: str, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skew_s: int
) -> None:
    store = _store(tmp_path, "writer")
    world.write(store, TREE)
    open_index("writer").push()
    for number in range(2):
        World().write(store, {"a.py": [f"{BIG} {number}"]})
        open_index("writer").push()
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + skew_s)
    report = open_index("writer").collect()
    assert (report.manifests, report.blobs) == (0, 0)
    open_index("reader").pull()


def test_collection_deletes_what_is_unused_and_old(
    open_index, endpoint: str, prefix: str, world: World, tmp_path: Path
) -> None:
    store = _store(tmp_path, "writer")
    for number in range(3):
        World().write(store, {"a.py": [f"{BIG[number:]} {number}"]})
        open_index("writer", grace_s=1).push()
    time.sleep(3.5)
    bucket = _open_bucket(endpoint, prefix)
    planned = collect_unused(bucket, dry_run=True)
    report = open_index("writer").collect()
    assert report.blobs == planned.blobs > 0
    assert report.manifests == 2
    open_index("reader").pull()
    assert _read_generation(_store(tmp_path, "reader")) == _read_generation(store)
    # Back to old content, whose blobs are deleted: it is uploaded again.
    World().write(store, {"a.py": [f"{BIG} 0"]})
    open_index("writer").push()
    open_index("reader").pull()
    assert _read_generation(_store(tmp_path, "reader")) == _read_generation(store)


@is_thorough
def test_old_unused_blob_is_never_relied_on(
    open_index, endpoint: str, prefix: str, world: World, tmp_path: Path
) -> None:
    store = _store(tmp_path, "writer")
    world.write(store, TREE)
    open_index("writer", grace_s=1).push()
    bucket = _open_bucket(endpoint, prefix)
    condemned = {info.key for info in bucket.list("blobs")}
    time.sleep(2.1)
    report = open_index("writer", repository="fork").push()  # a collection may run beside it
    bucket.delete(condemned)
    assert report.uploaded_bytes > 0
    open_index("reader", repository="fork").pull()
    assert _read_generation(_store(tmp_path, "reader")) == _read_generation(store)


@is_thorough
def test_local_copy_keeps_within_its_size(open_index, world: World, tmp_path: Path) -> None:
    writer, reader = _store(tmp_path, "writer"), _store(tmp_path, "reader")
    world.write(writer, TREE)
    open_index("writer").push()
    open_index("reader").pull()
    old = _read_generation(reader)
    for name in old:
        os.utime(reader.directory / "v1" / name, (1, 1))
    World().write(writer, {"c.py": ["new"]})
    open_index("writer").push()
    report = open_index("reader", max_copy_bytes=1).pull()
    assert report.pruned_bytes > 0
    assert not any((reader.directory / "v1" / name).exists() for name in old.keys() - _read_generation(reader).keys())
    World().check(reader.open(), {"c.py": ["new"]})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"url": "s4://bucket"}, "begins with 's4'"),
        ({"url": "bucket/prefix"}, "has no 's3://'"),
        ({"url": "s3://Bad_Name/x"}, "not a valid name of a bucket"),
        ({"url": "s3://key:hidden@bucket"}, "may not hold"),
        ({"endpoint": "localhost"}, "storage.endpoint"),
    ],
)
def test_address_with_a_typo_is_explained(endpoint: str, values: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        Bucket(make_settings(endpoint, "x", **values))
    assert "hidden" not in str(caught.value)


def test_wrong_secret_is_access_denied_and_not_shown(open_index, world: World, tmp_path: Path) -> None:
    world.write(_store(tmp_path, "writer"), TREE)
    with pytest.raises(ObjectStorageError, match="access denied") as caught:
        open_index("writer", secret_access_key="wrong-secret").push()
    assert "wrong-secret" not in f"{caught.value}{caught.value.hint}"


def test_missing_credentials_are_told(open_index, endpoint: str, monkeypatch, world: World, tmp_path: Path) -> None:
    world.write(_store(tmp_path, "writer"), TREE)
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", endpoint)  # it knows no role
    with pytest.raises(ObjectStorageError, match="no credentials") as caught:
        open_index("writer", access_key_id="", secret_access_key="").push()
    assert "AWS_ACCESS_KEY_ID" in caught.value.hint


def test_nothing_published_is_no_index(open_index) -> None:
    with pytest.raises(IndexNotFoundError, match="no index of shop"):
        open_index("reader").pull()


def test_unreachable_server_is_named_as_such(open_index) -> None:
    with pytest.raises(ObjectStorageUnavailableError, match="cannot be reached"):
        open_index("reader", address="http://127.0.0.1:9", timeout_s=0.3).pull()


def test_missing_extra_is_explained(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(ConfigurationError, match="extra s3"):
        Bucket(make_settings(endpoint, "x"))


def test_commands_push_and_compare(
    open_index,
    endpoint: str,
    prefix: str,
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from coderag.interfaces.cli.main import app

    def run(*arguments: str) -> dict[str, object]:
        with pytest.raises(SystemExit) as ended:
            app(["storage", *arguments, "--repo", str(tmp_path / "shop"), "--json"])
        assert ended.value.code == 0
        return json.loads(capsys.readouterr().out)

    for name, value in make_settings(endpoint, prefix).model_dump(mode="json").items():
        if name in ("url", "endpoint", "region", "access_key_id"):
            monkeypatch.setenv(f"CODERAG_STORAGE__{name.upper()}", str(value))
    monkeypatch.setenv("CODERAG_STORAGE__SECRET_ACCESS_KEY", SECRET_KEY)
    world.write(_store(tmp_path, "shop"), TREE)
    assert run("status")["state"] == "not published"
    assert run("push")["changed"] is True
    assert run("status")["state"] == "equal"
    assert run("pull")["fetched_bytes"] == 0
    assert run("collect", "--dry-run")["blobs"] == 0


_PUSH = """
import json, sys
from pathlib import Path
from coderag.config.sections import StorageSettings
from coderag.stores.object_storage.object_index import ObjectIndex
import obstore
settings = StorageSettings.model_validate(json.loads(sys.argv[1]))
print("ready", flush=True)
ObjectIndex(settings, "shop", Path(sys.argv[2])).push()
"""


@pytest.mark.slow
def test_killed_publishing_leaves_the_old_or_the_new_generation(
    open_index, endpoint: str, prefix: str, world: World, tmp_path: Path
) -> None:
    kills = int(os.environ.get("CODERAG_TEST_STORAGE_KILLS", "1"))
    rng, writer, reader = random.Random(11), _store(tmp_path, "writer"), _store(tmp_path, "reader")
    world.write(writer, TREE)
    open_index("writer").push()
    settings = make_settings(endpoint, prefix).model_dump(mode="json") | {"secret_access_key": SECRET_KEY}
    complete = [_read_generation(writer)]
    for number in range(kills):
        World().write(writer, {"a.py": [f"{number} {BIG[number * 50 :]}", BIG], "n.py": [str(number)]})
        complete.append(_read_generation(writer))
        command = [sys.executable, "-c", _PUSH, json.dumps(settings), str(writer.directory)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(rng.uniform(0, 0.15))
            process.kill()
        open_index("reader").pull()
        assert _read_generation(reader) in complete[-2:]
        open_index("writer").push()  # continues
        open_index("reader").pull()
        assert _read_generation(reader) == complete[-1]


def test_doctor_compares_the_published_index_and_tells_a_store_that_is_away(
    endpoint: str, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "a.py").write_text("def first():\n    pass\n")
    settings = make_settings(endpoint, prefix).model_dump(exclude_unset=True)
    settings["secret_access_key"] = SECRET_KEY

    def check(**values: object) -> Check:
        for name, value in (settings | values).items():
            monkeypatch.setenv(f"CODERAG_STORAGE__{name.upper()}", str(value))
        [only] = Examination(root, only=["storage"]).run_checks()
        return only

    assert (check().status, "nothing is published yet" in check().message) == ("note", True)
    with CodeRAG(root, storage=settings) as rag:
        rag.index()
    assert check().status == "ok"
    assert "generation 1" in check().message
    away = check(endpoint="http://127.0.0.1:9", timeout_s=2)
    assert (away.status, away.error) == ("failed", "ObjectStorageUnavailableError")
    assert SECRET_KEY not in f"{away.message} {away.hint}"
    assert check(access_key_id="wrong").error == "ObjectStorageError"
