"""Documents of a git repository at a commit, read from its objects: no working tree, no filter, no hook.

A folder is read in place. From an address, the newest commit of a branch is fetched into a bare repository of the mirror.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from coderag.errors import SourceError, SourceUnavailableError
from coderag.sources.files.document_store import MAX_DOCUMENT_BYTES, DocumentContent, DocumentEntry, DocumentFilter
from coderag.system.git import run_git_command

_TIMEOUT_S: Final = 600.0
_PROTOCOLS: Final = ("https", "http", "ssh", "git", "file")
_MAX_PACKS: Final = 50  # each fetch adds one; then the clone is made again
_MODES: Final = (b"100644", b"100755")  # no links, no submodules
_PASSWORD: Final = re.compile(r"(?<=://)[^/@\s]+@")
_MAX_BATCH_BYTES: Final = 64_000_000


class GitStore:
    """Documents of a git repository.

    Args:
        location: Address or folder of the repository.
        branch: Branch or tag; empty takes the default branch, or what is checked out in a folder.
        clone: Folder for a clone of an address; created if it is needed.
        document_filter: Choice of its files.
    """

    def __init__(self, location: str, branch: str, clone: Path, document_filter: DocumentFilter) -> None:
        self._location = location
        self._branch = branch
        self._filter = document_filter
        self._is_local = "://" not in location and Path(location).is_dir()
        self._folder = Path(location) if self._is_local else clone
        self._commit = ""

    def describe(self) -> str:
        """Return the address without a password, and the branch."""
        place = _PASSWORD.sub("", self._location)
        return f"{place} ({self._branch})" if self._branch else place

    def find_version(self) -> str:
        """Fetch the newest commit, and return it.

        Raises:
            SourceUnavailableError: The repository cannot be fetched.
            SourceError: There is no git, no repository, or no such branch.
        """
        revision = (self._branch or "HEAD") if self._is_local else self._fetch()
        output = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        if output is None:
            raise SourceError(
                f"{self.describe()} has no commit {revision}", hint="Check `git` and `branch` of the source."
            )
        self._commit = output.decode().strip()
        return self._commit

    def list_entries(self) -> list[DocumentEntry]:
        """List the candidates of the commit. Raises as `find_version`."""
        commit = self._commit or self.find_version()
        output = self._run("ls-tree", "-r", "-l", "-z", "--full-tree", commit)
        if output is None:
            raise SourceError(f"the files of {self.describe()} cannot be listed")
        entries = []
        for line in output.split(b"\0"):
            head, _, name = line.partition(b"\t")
            fields = head.split()
            if len(fields) != 4 or fields[0] not in _MODES:
                continue
            path = os.fsdecode(name)
            if self._filter.matches(path):
                entries.append(DocumentEntry(path, fields[2].decode(), int(fields[3])))
        return sorted(entries)

    def read_contents(self, entries: Sequence[DocumentEntry]) -> Iterator[DocumentContent | str]:
        """Yield the content of each entry, or the reason why it cannot be read. Raises as `find_version`."""
        start = 0
        while start < len(entries):
            end, size = start, 0
            while end < len(entries) and (end == start or size + entries[end].size <= _MAX_BATCH_BYTES):
                size += entries[end].size if entries[end].size <= MAX_DOCUMENT_BYTES else 0
                end += 1
            yield from self._read_batch(entries[start:end])
            start = end

    def close(self) -> None:
        """Do nothing."""

    def _read_batch(self, entries: Sequence[DocumentEntry]) -> Iterator[DocumentContent | str]:
        small = [entry for entry in entries if entry.size <= MAX_DOCUMENT_BYTES]
        request = "".join(f"{entry.hash}\n" for entry in small).encode()
        output = self._run("cat-file", "--batch", stdin=request) if small else b""
        if output is None:
            raise SourceError(f"the files of {self.describe()} cannot be read")
        position = 0
        for entry in entries:
            if entry.size > MAX_DOCUMENT_BYTES:
                yield DocumentContent(bytes(MAX_DOCUMENT_BYTES + 1))
                continue
            end = output.index(b"\n", position)
            fields = output[position:end].split()
            if len(fields) != 3:
                yield "its object is missing"
                position = end + 1
                continue
            start, size = end + 1, int(fields[2])
            yield DocumentContent(output[start : start + size])
            position = start + size + 1

    def _fetch(self) -> str:
        """Fetch the newest commit without history; return its name in the clone."""
        with suppress(OSError):
            if len(list((self._folder / "objects" / "pack").glob("*.pack"))) > _MAX_PACKS:
                shutil.rmtree(self._folder)
        if not (self._folder / "HEAD").is_file():
            self._folder.mkdir(parents=True, exist_ok=True)
            if self._run("init", "--quiet", "--bare", "--template=", ".") is None:
                raise SourceError("git is not installed, or cannot make a repository", hint="Install git.")
        reference = self._branch or "HEAD"
        arguments = ["-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "fetch.recurseSubmodules=false"]
        arguments += ["fetch", "--quiet", "--depth", "1", "--no-tags", "--no-write-fetch-head", "--force"]
        arguments += ["--end-of-options", self._location, f"{reference}:refs/coderag/head"]
        result = self._start(arguments, protocols=_PROTOCOLS)
        if result is None or result.returncode != 0:
            reason = (
                os.fsdecode(result.stderr).strip().splitlines()[-1:] if result is not None else ["it took too long"]
            )
            message = f"{self.describe()} cannot be fetched: {_PASSWORD.sub('', ' '.join(reason))}"
            hint = "Check the address, the branch, and that `git fetch` works without a prompt."
            raise SourceUnavailableError(message, hint=hint)
        return "refs/coderag/head"

    def _run(self, *arguments: str, stdin: bytes | None = None) -> bytes | None:
        result = self._start(arguments, stdin=stdin)
        return result.stdout if result is not None and result.returncode == 0 else None

    def _start(
        self, arguments: Sequence[str], *, stdin: bytes | None = None, protocols: Sequence[str] = ()
    ) -> "subprocess.CompletedProcess[bytes] | None":
        environment = {}
        if not self._is_local:  # the clone may lie within another repository, which must not be taken for it
            arguments = ["--git-dir=.", *arguments]
        if protocols and "GIT_SSH_COMMAND" not in os.environ:
            environment["GIT_SSH_COMMAND"] = "ssh -o BatchMode=yes"  # it would wait for a password on the terminal
        return run_git_command(
            self._folder,
            arguments,
            is_excluded=lambda name: name.startswith("GIT_") and name not in _USER_VARIABLES,
            timeout_s=_TIMEOUT_S,
            environment=environment,
            stdin=stdin,
            protocols=protocols,
        )


_USER_VARIABLES: Final = frozenset(
    {"GIT_SSH_COMMAND", "GIT_SSH", "GIT_SSL_CAINFO", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_ASKPASS"}
)
