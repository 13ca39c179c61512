"""Mirrors over a real git server on the loopback: what is fetched, refused, limited and left behind."""

import base64
import random
import subprocess
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from coderag.errors import GitFetchError, GitUnavailableError
from coderag.server.repositories.folder_lock import FolderBusyError
from coderag.server.repositories.git_access import build_http_access
from coderag.server.repositories.git_runner import GitRunner
from coderag.server.repositories.git_url import check_url
from coderag.server.repositories.mirror import Mirror
from tests.support.git_http_server import GitHttpServer
from tests.support.git_origins import GitOrigin, read_files
from tests.support.server_world import LOOPBACK, resolve_to


@pytest.fixture
def world(tmp_path):
    origins = tmp_path / "origins"
    origins.mkdir()
    with GitHttpServer(origins) as server:
        origin = GitOrigin(origins)
        yield SimpleNamespace(server=server, origin=origin, folder=tmp_path / "mirror", settings=LOOPBACK, branch="")


def update(world, *, host="127.0.0.1", addresses=("127.0.0.1",), user="", secret="", check=None, report=None):
    address = check_url(world.server.url("shop.git", host), LOOPBACK, resolve=resolve_to(*addresses))
    mirror = Mirror(world.folder, world.settings)
    options = {"check": check, "report": report}
    with mirror.hold(GitRunner(**{name: value for name, value in options.items() if value is not None})):
        return mirror.update(address.url.text, world.branch, build_http_access(address, user, secret))


def files(world):
    return read_files(world.folder / "checkout")


def git(world, *arguments):
    return GitOrigin.git(world.folder / "checkout", *arguments)


def test_the_checkout_has_the_files_of_the_default_branch(world):
    commit = world.origin.commit({"a.py": "a\n", "lib/b.py": "b\n", "ümläut.py": "u\n"})
    world.origin.commit({"other.py": "o\n"}, branch="other")
    assert update(world) == commit
    assert files(world) == {"a.py": b"a\n", "lib/b.py": b"b\n", "ümläut.py": b"u\n"}


def test_server_of_mere_files_sends_single_objects(world):
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_SilentHandler, directory=str(world.server.folder))) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        world.server = SimpleNamespace(url=lambda name, host: f"http://{host}:{server.server_address[1]}/{name}")
        for text in ("a\n", "b\n"):
            commit = world.origin.commit({"a.py": text})
            world.origin.git(world.origin.bare, "update-server-info")
            assert update(world) == commit
            assert files(world) == {"a.py": text.encode()}
        server.shutdown()


class _SilentHandler(SimpleHTTPRequestHandler):
    """Serves files, and logs nothing."""

    def log_message(self, *_: object) -> None:
        pass


def test_the_history_and_tags_can_be_read_in_the_checkout(world):
    first = world.origin.commit({"a.py": "a\n"}, "First")
    world.origin.git(world.origin.work, "tag", "v1")
    second = world.origin.commit({"a.py": "b\n"}, "Second")
    update(world)
    assert git(world, "log", "--format=%H %s").splitlines() == [f"{second} Second", f"{first} First"]
    assert git(world, "rev-parse", "v1", "main") == f"{first}\n{second}"
    assert git(world, "status", "--porcelain") == ""


def test_an_update_changes_adds_and_removes_files_and_keeps_the_index(world):
    world.origin.commit({"a.py": "a\n", "gone/deep/b.py": "b\n", "same.py": "s\n"})
    update(world)
    index = world.folder / "checkout" / ".coderag" / "v1" / "table"
    index.parent.mkdir(parents=True)
    index.write_text("index")
    before = (world.folder / "checkout" / "same.py").stat()
    world.origin.commit({"a.py": "A\n", "gone/deep/b.py": None, "new.py": "n\n"})
    update(world)
    assert files(world) == {"a.py": b"A\n", "same.py": b"s\n", "new.py": b"n\n"}
    assert not (world.folder / "checkout" / "gone").exists()
    assert index.read_text() == "index"
    after = (world.folder / "checkout" / "same.py").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_file_becomes_a_folder_and_back(world):
    world.origin.commit({"x": "file\n"})
    update(world)
    world.origin.write({"x": None})
    world.origin.commit({"x/y": "deep\n"})
    update(world)
    assert files(world) == {"x/y": b"deep\n"}
    world.origin.write({"x/y": None})
    (world.origin.work / "x").rmdir()
    world.origin.commit({"x": "file\n"})
    update(world)
    assert files(world) == {"x": b"file\n"}


def test_a_forced_push_and_a_moved_and_a_deleted_tag_are_followed(world):
    world.origin.commit({"a.py": "a\n"})
    world.origin.git(world.origin.work, "tag", "moves")
    world.origin.git(world.origin.work, "tag", "goes")
    world.origin.commit({"a.py": "b\n"})
    update(world)
    world.origin.git(world.origin.work, "commit", "--quiet", "--amend", "-m", "Rewritten")
    world.origin.git(world.origin.work, "tag", "--force", "moves")
    world.origin.git(world.origin.bare, "tag", "--delete", "goes")
    world.origin.git(world.origin.work, "tag", "--delete", "goes")
    commit = world.origin.push("Next")
    assert update(world) == commit
    assert git(world, "log", "-1", "--format=%s", "moves") == "Rewritten"
    assert git(world, "tag") == "moves"


def test_nothing_is_fetched_when_nothing_was_pushed(world):
    commit = world.origin.commit({"a.py": "a\n"})
    update(world)
    world.server.requests.clear()
    assert update(world) == commit
    assert world.server.requests == ["/shop.git/info/refs?service=git-upload-pack", "/shop.git/git-upload-pack"]


def test_a_named_branch_is_followed(world):
    world.origin.commit({"a.py": "a\n"})
    commit = world.origin.commit({"a.py": "b\n"}, branch="release/1.0")
    world.branch = "release/1.0"
    assert update(world) == commit


def test_a_missing_branch_and_an_empty_repository_are_explained(world):
    with pytest.raises(GitFetchError, match="no commits on its default branch"):
        update(world)
    world.origin.commit({"a.py": "a\n"})
    world.branch = "mian"
    with pytest.raises(GitFetchError, match="no branch mian") as caught:
        update(world)
    assert not caught.value.retryable


def test_many_pushes_are_packed_and_stay_readable(world, monkeypatch):
    monkeypatch.setattr("coderag.server.repositories.mirror._MAX_PACKS", 3)
    for number in range(6):
        commit = world.origin.commit({"a.py": f"{number}\n"})
        assert update(world) == commit
    assert len(list((world.folder / "mirror.git" / "objects" / "pack").glob("*.pack"))) <= 4
    assert git(world, "fsck", "--no-dangling") == ""
    assert git(world, "rev-list", "--count", "HEAD") == "6"


def test_neither_filters_nor_hooks_nor_settings_of_git_run_anything(world, tmp_path, monkeypatch):
    canary = tmp_path / "canary"
    script = tmp_path / "script.sh"
    script.write_text(f"#!/bin/sh\necho ran >> {canary}\ncat\n")
    script.chmod(0o755)
    settings = ['[filter "evil"]', f"smudge = {script}", f"[core]\nhooksPath = {tmp_path}\nfsmonitor = {script}"]
    settings += [f"sshCommand = {script}", f"[credential]\nhelper = {script}", '[url "http://127.0.0.1:1/"]']
    settings += [f"insteadOf = http://127.0.0.1:{world.server.port}/"]
    (tmp_path / "gitconfig").write_text("\n".join(settings))
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        (tmp_path / name).write_text(script.read_text())
        (tmp_path / name).chmod(0o755)
    world.origin.commit({".gitattributes": "* filter=evil\n", "a.py": "a\n", ".gitmodules": "[submodule]\n"})
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(tmp_path))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    update(world)
    assert files(world)["a.py"] == b"a\n"
    assert not canary.exists()


def test_a_link_is_a_file_with_its_target_and_leads_nowhere(world):
    world.origin.write({"a.py": "a\n"})
    (world.origin.work / "out").symlink_to("/etc/passwd")
    (world.origin.work / "up").symlink_to("../../../")
    world.origin.commit({})
    update(world)
    assert not (world.folder / "checkout" / "out").is_symlink()
    assert files(world) == {"a.py": b"a\n", "out": b"/etc/passwd", "up": b"../../../"}


@pytest.mark.parametrize("name", [".coderag/pointer.json", ".CODERAG/pointer.json"])
def test_a_commit_cannot_bring_an_index(world, name):
    world.origin.commit({name: "forged", "a.py": "a\n"})
    update(world)
    assert [path.name for path in (world.folder / "checkout").iterdir() if path.name != ".git"] == ["a.py"]


def test_a_commit_cannot_write_into_the_git_folder(world):
    world.origin.commit({"a.py": "a\n"})
    tree = (
        subprocess.run(
            ["git", "mktree"],
            cwd=world.origin.work,
            input=b"100644 blob " + world.origin.git(world.origin.work, "hash-object", "a.py").encode() + b"\tconfig\n",
            capture_output=True,
            check=True,
        )
        .stdout.decode()
        .strip()
    )
    top = (
        subprocess.run(
            ["git", "mktree"],
            cwd=world.origin.work,
            input=f"040000 tree {tree}\t.git\n".encode(),
            capture_output=True,
            check=True,
        )
        .stdout.decode()
        .strip()
    )
    commit = world.origin.git(world.origin.work, "commit-tree", top, "-m", "evil")
    world.origin.git(world.origin.bare, "fetch", "--quiet", str(world.origin.work), f"+{commit}:refs/heads/main")
    with pytest.raises(GitFetchError, match="cannot be checked out"):
        update(world)


def test_a_submodule_is_not_fetched(world):
    inner = world.origin.commit({"a.py": "a\n"})
    world.origin.write({".gitmodules": '[submodule "in"]\npath = in\nurl = http://127.0.0.1:1/x\n'})
    world.origin.git(world.origin.work, "add", ".gitmodules")
    world.origin.git(world.origin.work, "update-index", "--add", "--cacheinfo", f"160000,{inner},in")
    world.origin.push()
    update(world)
    assert sorted(files(world)) == [".gitmodules", "a.py"]


# -- credentials, redirects and addresses


def test_a_password_is_sent_and_a_wrong_one_is_explained(world):
    world.server.account = ("robot", "hunter2")
    commit = world.origin.commit({"a.py": "a\n"})
    assert update(world, user="robot", secret="hunter2") == commit
    for secret in ("", "wrong-secret"):
        with pytest.raises(GitFetchError, match="refuses the credential") as caught:
            update(world, user="robot", secret=secret)
        assert not caught.value.retryable
        assert "wrong-secret" not in str(caught.value) + caught.value.hint


def test_a_redirect_is_not_followed(world, tmp_path):
    world.origin.commit({"a.py": "a\n"})
    with GitHttpServer(world.server.folder) as inner:
        world.server.redirect = f"http://127.0.0.1:{inner.port}"
        with pytest.raises(GitFetchError, match="redirects to another address"):
            update(world, user="robot", secret="hunter2")
        assert inner.requests == []


def test_git_connects_to_the_checked_address_whatever_the_name_resolves_to(world):
    commit = world.origin.commit({"a.py": "a\n"})
    assert update(world, host="git.test") == commit


def test_a_missing_repository_and_a_closed_port_are_told_apart(world):
    with pytest.raises(GitFetchError, match="no such repository") as caught:
        world.server.folder = world.server.folder / "nowhere"
        update(world)
    assert not caught.value.retryable
    world.server.url = lambda *_: "http://127.0.0.1:1/shop.git"
    with pytest.raises(GitUnavailableError, match="cannot be reached"):
        update(world)


# -- limits and interruptions


def noise(megabytes):
    return random.Random(1).randbytes(megabytes * 1_000_000)


def leftovers(world):
    expected = {"checkout", "mirror.git", "lock", "git.lock"}
    loose = [
        str(path) for path in (world.folder / "mirror.git").rglob("*") if "tmp" in path.name or path.suffix == ".lock"
    ]
    return sorted({path.name for path in world.folder.iterdir()} - expected) + loose


def test_a_fetch_that_outgrows_the_limit_is_ended_and_leaves_the_last_checkout(world):
    commit = world.origin.commit({"a.py": "a\n"})
    update(world)
    world.settings = LOOPBACK.model_copy(update={"max_megabytes": 2})
    world.origin.commit({"big.bin": noise(30)})
    world.server.pause_s = 0.002
    with pytest.raises(GitFetchError, match="larger than the limit of 2 megabytes") as caught:
        update(world)
    assert not caught.value.retryable
    assert files(world) == {"a.py": b"a\n"}
    assert leftovers(world) == []
    assert git(world, "rev-parse", "HEAD") == commit
    assert sum(path.stat().st_size for path in world.folder.rglob("*") if path.is_file()) < 2_000_000


def test_files_that_unpack_to_more_than_the_limit_are_refused(world):
    world.origin.commit({"a.py": "a\n"})
    update(world)
    world.settings = LOOPBACK.model_copy(update={"max_megabytes": 2})
    world.origin.commit({"bomb": b"\0" * 30_000_000})
    with pytest.raises(GitFetchError, match=r"files of commit .* are larger than the limit"):
        update(world)
    assert files(world) == {"a.py": b"a\n"}


def test_a_tree_that_names_itself_many_times_is_refused(world, monkeypatch):
    monkeypatch.setattr("coderag.server.repositories.checkout.MAX_FILES", 1000)
    world.origin.commit({"a.py": "a\n"})
    entry = f"100644 blob {world.origin.git(world.origin.work, 'hash-object', 'a.py')}\tf\n"
    for _ in range(5):
        tree = (
            subprocess.run(
                ["git", "mktree"], cwd=world.origin.work, input=entry.encode(), capture_output=True, check=True
            )
            .stdout.decode()
            .strip()
        )
        entry = "".join(f"040000 tree {tree}\t{number}\n" for number in range(10))
    commit = world.origin.git(world.origin.work, "commit-tree", tree, "-m", "bomb")
    world.origin.git(world.origin.bare, "fetch", "--quiet", str(world.origin.work), f"+{commit}:refs/heads/main")
    with pytest.raises(GitFetchError, match="more than 1,000 files"):
        update(world)


def test_a_fetch_that_takes_too_long_is_ended(world):
    world.origin.commit({"big.bin": noise(5)})
    world.server.pause_s = 0.05
    world.settings = LOOPBACK.model_copy(update={"fetch_s": 1.0})
    with pytest.raises(GitUnavailableError, match="did not finish within 1 s"):
        update(world)
    assert leftovers(world) == []


def test_a_check_ends_a_fetch_that_is_running(world):
    world.origin.commit({"big.bin": noise(5)})
    world.server.pause_s = 0.05
    seen = []

    class StopError(Exception):
        pass

    def check():
        if seen:
            raise StopError

    def report(progress):
        if progress["phase"] == "receiving":
            seen.append(progress)

    with pytest.raises(StopError):
        update(world, check=check, report=report)
    assert set(seen[0]) == {"phase", "done", "total"}
    assert leftovers(world) == []


@contextmanager
def interrupted(monkeypatch, target):
    """Let one step of an update fail, as a crash would."""
    with monkeypatch.context() as patch:
        patch.setattr(target, lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            yield


@pytest.mark.parametrize(
    "step", ["checkout.Checkout._move", "checkout.Checkout._link", "checkout.Checkout._remove_others",
             "checkout.Checkout._stage", "mirror.Mirror._take_incoming", "mirror.Mirror._pack"]
)  # fmt: skip
def test_an_update_that_was_cut_off_anywhere_is_completed_by_the_next(world, monkeypatch, step):
    world.origin.commit({"a.py": "a\n", "gone.py": "g\n", "deep/d.py": "d\n"})
    update(world)
    commit = world.origin.commit({"a.py": "A\n", "gone.py": None, "new.py": "n\n"})
    with interrupted(monkeypatch, f"coderag.server.repositories.{step}"):
        update(world)
    (world.folder / "checkout" / "stray.py").write_text("left over")
    mirror = Mirror(world.folder, world.settings)
    if mirror.checkout.commit != commit:
        (world.folder / "updating").touch()  # a stray file is possible only while files are moved
    assert update(world) == commit
    assert files(world) == {"a.py": b"A\n", "deep/d.py": b"d\n", "new.py": b"n\n"}
    assert mirror.checkout.commit == commit
    assert leftovers(world) == []


def test_a_checkout_that_is_being_changed_has_no_commit(world, monkeypatch):
    world.origin.commit({"a.py": "a\n"})
    update(world)
    world.origin.commit({"a.py": "A\n"})
    with interrupted(monkeypatch, "coderag.server.repositories.checkout.Checkout._move"):
        update(world)
    assert Mirror(world.folder, world.settings).checkout.commit == ""


def test_a_damaged_mirror_is_fetched_again(world):
    commit = world.origin.commit({"a.py": "a\n"})
    update(world)
    for pack in (world.folder / "mirror.git" / "objects" / "pack").iterdir():
        pack.unlink()
    assert update(world) == commit
    assert git(world, "log", "--format=%H") == commit


def test_locks_that_a_killed_git_left_do_not_stop_the_next_fetch(world):
    world.origin.commit({"a.py": "a\n"})
    update(world)
    for name in ("packed-refs.lock", "refs/heads/main.lock", "HEAD.lock", "objects/pack/tmp_pack_x"):
        (world.folder / "mirror.git" / name).touch()
    commit = world.origin.commit({"a.py": "b\n"})
    assert update(world) == commit
    assert leftovers(world) == []


def test_a_mirror_is_used_by_one_at_a_time(world):
    world.origin.commit({"a.py": "a\n"})
    mirror = Mirror(world.folder, world.settings)
    seen = []

    def compete():
        try:
            update(world)
        except FolderBusyError as error:
            seen.append(error.retryable)

    with mirror.hold(GitRunner()):
        thread = threading.Thread(target=compete)
        thread.start()
        thread.join()
    assert seen == [True]
    update(world)


def test_no_secret_is_on_a_command_line_or_in_a_message(world, monkeypatch):
    world.server.account = ("robot", "hunter2")
    world.origin.commit({"a.py": "a\n"})
    commands = []
    popen = subprocess.Popen
    monkeypatch.setattr(
        "coderag.system.git.subprocess.Popen",
        lambda command, **options: commands.append(command) or popen(command, **options),
    )
    update(world, user="robot", secret="hunter2")
    assert commands
    for secret in ("hunter2", base64.b64encode(b"robot:hunter2").decode()):
        assert not any(secret in word for command in commands for word in command)
        for path in world.folder.rglob("*"):
            assert not path.is_file() or secret.encode() not in path.read_bytes()
