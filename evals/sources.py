"""Open-source projects of the golden sets: their revisions, and their checkout on this machine."""

import io
import subprocess
import tarfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coderag.errors import ConfigurationError, IngestionError

from .golden import format_faults

_HOST = "https://github.com"


class ProjectSource(BaseModel):
    """Origin of a project.

    Attributes:
        repository: ``owner/name`` on GitHub.
        revision: Commit that the labels refer to.
        root: Folder of the repository that is indexed, and that label paths are relative to; empty for all.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    repository: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    revision: str = Field(pattern=r"^[0-9a-f]{40}$")
    language: str
    licence: str
    root: str = ""


def load_sources(path: Path) -> dict[str, ProjectSource]:
    """Load the projects of a ``sources.toml`` by name.

    Raises:
        ConfigurationError: The file or one of its tables is invalid.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"sources {path}: {error}") from error
    sources = {}
    for name, table in sorted(tables.items()):
        try:
            sources[name] = ProjectSource.model_validate(table)
        except ValidationError as error:
            raise ConfigurationError(f"sources {path}: [{name}] {'; '.join(format_faults(error))}") from error
    return sources


def check_out_project(name: str, source: ProjectSource, trees: Path, clones: Path | None = None) -> Path:
    """Check out a project's revision, unless it is there already, and return its folder.

    Args:
        name: Name of the project.
        source: Origin of the project.
        trees: Folder of all projects' files.
        clones: Folder of git clones, bare or not, named ``owner+name``, ``owner+name/repo`` or ``name``. Without it, the
            revision is fetched.

    Raises:
        IngestionError: The project has no clone, or the revision is not available.
    """
    target = trees / f"{name}-{source.revision[:12]}"
    if not target.is_dir():
        git_dir = _find_clone(source, clones) if clones else _fetch_revision(source, trees / f"{name}.git")
        folder = [source.root] if source.root else []
        archive = _run_git(git_dir, "archive", "--format=tar", source.revision, *folder)
        unfinished = target.with_suffix(".unfinished")
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(unfinished, filter=_filter_member)  # noqa: S202  # the filter checks each member
        unfinished.rename(target)
    return target / source.root


def _find_clone(source: ProjectSource, clones: Path) -> Path:
    owner, name = source.repository.split("/")
    for folder in (clones / f"{owner}+{name}" / "repo", clones / f"{owner}+{name}", clones / name):
        for path in (folder / ".git", folder):
            if (path / "HEAD").is_file() and (path / "objects").is_dir():
                return path
    raise IngestionError(f"no clone of {source.repository} in {clones}", hint="Leave out --clones to download it.")


def _fetch_revision(source: ProjectSource, git_dir: Path) -> Path:
    """Fetch one revision into a bare repository and return its folder."""
    git_dir.mkdir(parents=True, exist_ok=True)
    _run_git(git_dir, "init", "--bare", "--quiet")
    _run_git(git_dir, "fetch", "--quiet", "--depth=1", f"{_HOST}/{source.repository}.git", source.revision)
    return git_dir


def _run_git(git_dir: Path, *arguments: str) -> bytes:
    command = ["git", f"--git-dir={git_dir}", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise IngestionError("git is not installed") from error
    if done.returncode:
        output: Sequence[str] = done.stderr.decode(errors="replace").strip().splitlines()
        raise IngestionError(f"git {arguments[0]} failed in {git_dir}: {output[-1] if output else 'no message'}")
    return done.stdout


def _filter_member(member: tarfile.TarInfo, target: str) -> tarfile.TarInfo | None:
    """Return a member to extract; None skips members that would leave the folder."""
    try:
        return tarfile.data_filter(member, target)
    except tarfile.FilterError:
        return None
