"""Checkouts of git addresses: one commit without its history, kept from run to run."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from coderag.errors import GitFetchError, GitUnavailableError
from coderag.schema.cluster import ClusterRepository
from coderag.system.git import run_git_command
from coderag.system.git_failures import translate_failure

PROTOCOLS: Final = ("https", "http", "ssh", "git")
"""Protocols of git addresses."""

_REMOTE_TIMEOUT_S: Final = 60.0
_FETCH_TIMEOUT_S: Final = 3_600.0
_is_commit = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}").fullmatch


def resolve_commit(repository: ClusterRepository) -> str:
    """Return the commit that a repository's revision names now.

    Raises:
        GitUnavailableError: Its server does not answer.
        GitFetchError: It has no such revision, or refuses.
    """
    if _is_commit(repository.revision):
        return repository.revision
    revision = repository.revision or "HEAD"
    names = ["HEAD"]
    if revision != "HEAD":
        names = [f"refs/heads/{revision}", f"refs/tags/{revision}^{{}}", f"refs/tags/{revision}"]
    listed = _run(Path.home(), ["ls-remote", "--", repository.address, *names], repository, _REMOTE_TIMEOUT_S)
    commits: dict[str, str] = {}
    for line in listed.splitlines():
        commit, _, name = line.partition("\t")
        commits[name] = commit
    for name in names:
        if name in commits:
            return commits[name]
    raise GitFetchError(f"{repository.address} has no branch or tag {revision!r}", hint="Check the list.")


def fetch_commit(repository: ClusterRepository, commit: str, folder: Path) -> None:
    """Check a commit out into a folder, which is created or brought up to date.

    Raises:
        GitUnavailableError, GitFetchError: It cannot be fetched.
    """
    is_old = folder.exists()
    try:
        _fetch(repository, commit, folder)
    except GitFetchError:
        if not is_old:
            raise
        shutil.rmtree(folder, ignore_errors=True)  # perhaps a run was killed while it wrote there
        _fetch(repository, commit, folder)


def _fetch(repository: ClusterRepository, commit: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    _run(folder, ["init", "--quiet"], repository, _REMOTE_TIMEOUT_S)
    for name in ("shallow.lock", "index.lock", "HEAD.lock"):  # of a git that was killed
        (folder / ".git" / name).unlink(missing_ok=True)
    if _read_head(folder) != commit:
        fetch = ["fetch", "--quiet", "--no-tags", "--force"]
        try:
            _run(folder, [*fetch, "--depth=1", "--", repository.address, commit], repository, _FETCH_TIMEOUT_S)
        except GitFetchError:
            if commit != repository.revision:
                raise
            every = "+refs/heads/*:refs/remotes/origin/*"  # not all servers give a commit that no branch ends with
            _run(folder, [*fetch, "--", repository.address, every], repository, _FETCH_TIMEOUT_S)
    _run(folder, ["checkout", "--quiet", "--force", "--detach", commit], repository, _FETCH_TIMEOUT_S)
    _run(folder, ["clean", "--quiet", "-ffdx"], repository, _FETCH_TIMEOUT_S)


def _read_head(folder: Path) -> str:
    head = folder / ".git" / "HEAD"
    text = head.read_text(encoding="ascii", errors="replace").strip() if head.exists() else ""
    return text if _is_commit(text) else ""


def _run(folder: Path, arguments: Sequence[str], repository: ClusterRepository, timeout_s: float) -> str:
    done = run_git_command(
        folder,
        arguments,
        is_excluded=lambda name: name.startswith("GIT_") and name not in ("GIT_SSH_COMMAND", "GIT_SSL_CAINFO"),
        timeout_s=timeout_s,
        protocols=PROTOCOLS,
    )
    if done is None:
        message = f"git {arguments[0]} for {repository.address} did not end within {timeout_s:,.0f} s"
        raise GitUnavailableError(message, hint="Check that git is installed and the server answers.")
    if done.returncode:
        failure = translate_failure(arguments, os.fsdecode(done.stderr))
        raise type(failure)(f"{repository.address}: {failure}", hint=failure.hint)
    return os.fsdecode(done.stdout)
