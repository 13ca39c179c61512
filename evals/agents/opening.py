"""Start of a session: the repository's tree, its index, the tools of the arm."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from coderag.errors import IngestionError
from evals.sources import ProjectSource

from .file_tools import FileTools
from .tasks import Task, find_tree
from .toolsets import Arm, Toolset


@dataclass(frozen=True, slots=True)
class Trees:
    """Repositories of the tasks on this machine.

    Attributes:
        folder: Folder of the repositories' files; missing ones are checked out into it.
        clones: Folder of git clones; None downloads missing revisions.
        is_indexed: Whether all have an index that is to be used as it is.
    """

    sources: Mapping[str, ProjectSource]
    folder: Path
    clones: Path | None = None
    is_indexed: bool = False

    def prepare(self, task: Task, arm: Arm) -> Path:
        """Return the folder of a task's repository, indexed if the arm needs it.

        Raises:
            ConfigurationError: No source has the repository's name.
            IngestionError: The revision is not available, or it cannot be indexed.
        """
        root = find_tree(task.repository, self.sources, self.folder, self.clones)
        if arm == "mcp" and not self.is_indexed:
            _index_repository(root)
        return root


@contextmanager
def open_toolset(arm: Arm, root: Path) -> Iterator[Toolset]:
    """Yield the tools of an arm for a repository.

    Raises:
        ServiceError: The MCP server does not start.
    """
    if arm == "grep":
        yield FileTools(root)
    else:
        from .mcp_tools import open_mcp_tools  # noqa: PLC0415  # seconds, which the command `call` need not spend

        with open_mcp_tools(root) as tools:
            yield tools


def _index_repository(root: Path) -> None:
    """Bring the index of a repository up to date with ``coderag index``.

    Raises:
        IngestionError: The command fails.
    """
    done = subprocess.run(
        [sys.executable, "-m", "coderag", "index", "-C", str(root)],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise IngestionError(f"`coderag index -C {root}` failed: {lines[-1] if lines else 'no message'}")
