"""Mirror of a repository: its history in a bare repository, and the files of one commit beside it.

::

    <folder>/mirror.git      history of the followed branch, with its tags
    <folder>/checkout        files of one commit, a linked working tree of the mirror
    <folder>/incoming.git    objects that are being fetched; removed if anything fails
    <folder>/staging         files that are being checked out
    <folder>/updating        exists while the checkout is changed: it is not to be indexed

Every step can be interrupted: the next run finishes or undoes it.
"""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from coderag.errors import GitFetchError
from coderag.server.repositories.checkout import Checkout
from coderag.server.repositories.folder_lock import hold_folder
from coderag.server.repositories.git_access import GitAccess
from coderag.server.repositories.git_runner import GitRunner, RunLimits, check_git_version
from coderag.server.settings import RepositorySettings

CHECKOUT_NAME: Final = "checkout"
_MIRROR_NAME: Final = "mirror.git"
_INCOMING_NAME: Final = "incoming.git"
_SECRETS_NAME: Final = "credential"
_MEGABYTE: Final = 1_000_000
_MAX_PACKS: Final = 20
_LIST_S: Final = 120.0
_DETACHED: Final = "refs/heads/HEAD"
_DAMAGE: Final = re.compile(
    r"corrupt|bad object|missing (blob|tree|commit)|unable to read|did not send all|broken|loose"
)
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class Mirror:
    """Mirror of a repository. Its lock must be held, see `hold`, for everything but `checkout_folder`.

    Args:
        folder: Folder of the repository, created when it is held.
        settings: Limits of size and time.
    """

    def __init__(self, folder: Path, settings: RepositorySettings) -> None:
        self.folder = folder
        self._settings = settings
        self._git = folder / _MIRROR_NAME
        self._incoming = folder / _INCOMING_NAME
        self._option = f"--git-dir={self._git}"
        self._runner = GitRunner()
        self.checkout = Checkout(folder, self._git, settings.max_megabytes * _MEGABYTE)

    @property
    def checkout_folder(self) -> Path:
        """Folder with the files."""
        return self.folder / CHECKOUT_NAME

    @property
    def secrets_folder(self) -> Path:
        """Folder for the files of a credential; emptied whenever the lock is taken."""
        return self.folder / _SECRETS_NAME

    @contextmanager
    def hold(self, runner: GitRunner) -> Iterator[None]:
        """Hold the lock, and remove what an interrupted run has left.

        Args:
            runner: Checks and progress of the commands within the block.

        Raises:
            FolderBusyError: Another worker holds it.
        """
        with hold_folder(self.folder) as descriptors:
            self._runner = GitRunner(descriptors, runner.check, runner.report)
            try:
                self._remove_leftovers()
                yield
            finally:
                shutil.rmtree(self.secrets_folder, ignore_errors=True)
                self._runner = GitRunner()

    def update(self, url: str, branch: str, access: GitAccess) -> str:
        """Fetch a branch with its history and tags, and change the checkout to its commit.

        Args:
            url: A URL that was checked.
            branch: Branch; empty for the default one.
            access: Access to the URL.

        Returns:
            The commit.

        Raises:
            GitFetchError: It cannot be fetched, or is too large.
            GitUnavailableError: The git server does not answer, or too slowly.
        """
        check_git_version()
        try:
            return self._update(url, branch, access)
        except GitFetchError as error:
            if not _DAMAGE.search(str(error)):
                raise
            self.checkout.forget_commit()  # its files stay until the next ones are there
            shutil.rmtree(self._git, ignore_errors=True)
            return self._update(url, branch, access)

    def remove(self) -> None:
        """Remove the mirror, the checkout and the index in it."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _update(self, url: str, branch: str, access: GitAccess) -> str:
        self._create_git()
        reference, commit = self._find_branch(url, branch, access)
        if self._find_commit(reference) != commit:
            self._fetch(url, reference, access)
            commit = self._find_commit(reference)
        if not commit:
            raise GitFetchError(f"the mirror is corrupt: {reference} has no commit")
        self.checkout.update(commit, self._runner)
        return commit

    def _find_branch(self, url: str, branch: str, access: GitAccess) -> tuple[str, str]:
        """Ask the server for a branch; return its full name and its commit."""
        pattern = f"refs/heads/{branch}" if branch else "HEAD"
        arguments = [self._option, "ls-remote", "--symref", "--", url, pattern]
        limits = RunLimits(min(_LIST_S, self._settings.fetch_s))
        output = self._runner.run(self.folder, arguments, access=access, limits=limits)
        reference, commit = pattern, ""
        for line in os.fsdecode(output).splitlines():
            value, _, name = line.partition("\t")
            if name == pattern and value.startswith("ref: refs/heads/"):
                reference = value.removeprefix("ref: ")
            elif name == pattern and _COMMIT.fullmatch(value):
                commit = value
        if not commit:
            subject = f"no branch {branch}" if branch else "no commits on its default branch"
            raise GitFetchError(f"the repository has {subject}", hint="Check the branch, or push to it first.")
        return (_DETACHED if reference == "HEAD" else reference), commit

    def _fetch(self, url: str, reference: str, access: GitAccess) -> None:
        source = "HEAD" if reference == _DETACHED else reference
        folders = (self._git, self._incoming)
        limits = RunLimits(self._settings.fetch_s, folders, self._settings.max_megabytes * _MEGABYTE)
        arguments = ["--git-dir=.", "fetch", "--progress", "--no-write-fetch-head", "--end-of-options"]
        try:
            self._create_incoming()
            self._runner.run(self._incoming, [*arguments, url, f"+{source}:{reference}"], access=access, limits=limits)
            self._take_incoming(reference)
        finally:
            shutil.rmtree(self._incoming, ignore_errors=True)
        self._pack()

    def _create_git(self) -> None:
        if not (self._git / "HEAD").is_file():
            shutil.rmtree(self._git, ignore_errors=True)
            self._run_locally("init", "--quiet", "--bare", "--template=", str(self._git))

    def _create_incoming(self) -> None:
        """Create a repository for new objects that borrows those of the mirror."""
        shutil.rmtree(self._incoming, ignore_errors=True)
        self._run_locally("init", "--quiet", "--bare", "--template=", str(self._incoming))
        borrowed = self._incoming / "objects" / "info" / "alternates"
        borrowed.parent.mkdir(exist_ok=True)
        borrowed.write_text(f"../../{_MIRROR_NAME}/objects\n", encoding="utf-8")

    def _take_incoming(self, reference: str) -> None:
        """Move the fetched objects into the mirror, then its references."""
        # A server of mere files sends single objects; all others send a pack.
        self._run_locally(f"--git-dir={self._incoming}", "repack", "-d", "-l", "--quiet")
        source, target = self._incoming / "objects" / "pack", self._git / "objects" / "pack"
        target.mkdir(parents=True, exist_ok=True)
        # An index makes its pack visible, so it comes last.
        for pack in sorted(source.glob("pack-*"), key=lambda path: path.suffix == ".idx"):
            pack.replace(target / pack.name)
        fetched = self._list_references(self._incoming)
        outdated = self._list_references(self._git).keys() - fetched.keys()  # branches and tags that are gone
        commands = [f"delete {name}" for name in sorted(outdated)]
        commands += [f"update {name} {commit}" for name, commit in fetched.items()]
        stdin = os.fsencode("".join(f"{command}\n" for command in commands))
        self._run_locally(self._option, "update-ref", "--stdin", stdin=stdin)
        self._run_locally(self._option, "symbolic-ref", "HEAD", reference)

    def _pack(self) -> None:
        """Combine the packs once there are many; what no reference needs goes."""
        if len(list((self._git / "objects" / "pack").glob("*.pack"))) > _MAX_PACKS:
            self._run_locally(self._option, "repack", "-a", "-d", "--quiet")

    def _find_commit(self, reference: str) -> str:
        """Return the commit of a reference of the mirror; empty if it is not there."""
        if not (self._git / "HEAD").is_file():
            return ""
        try:
            arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}")
            return self._run_locally(self._option, *arguments).decode().strip()
        except GitFetchError:
            return ""

    def _list_references(self, repository: Path) -> dict[str, str]:
        arguments = ("for-each-ref", "--format=%(objectname) %(refname)")
        output = self._run_locally(f"--git-dir={repository}", *arguments)
        lines = (os.fsdecode(line).partition(" ") for line in output.splitlines())
        return {name: commit for commit, _, name in lines}

    def _run_locally(self, *arguments: str, stdin: bytes = b"") -> bytes:
        return self._runner.run(self.folder, arguments, stdin=stdin)

    def _remove_leftovers(self) -> None:
        for folder in (self._incoming, self.secrets_folder, self.folder / "staging"):
            shutil.rmtree(folder, ignore_errors=True)
        for parent, folders, files in os.walk(self._git):
            if "pack" in folders and Path(parent).name == "objects":
                folders[:] = ["pack", "info"]
            for name in files:
                if name.endswith((".lock", ".tmp")) or name.startswith("tmp_"):
                    with suppress(OSError):
                        (Path(parent) / name).unlink()
