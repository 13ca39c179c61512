"""Document trees of git repositories at a revision, laid out in folders that a source of files mirrors."""

import io
import subprocess
import tarfile
from pathlib import Path

from evals.graph.ground_truth import EvaluationError
from evals.items.questions import DocumentTree


def export_tree(tree: DocumentTree, repository: Path, folder: Path) -> None:
    """Write the folders of a tree's documents as they are at its revision.

    Args:
        tree: The tree.
        repository: Clone of its repository, bare or not.
        folder: Where the documents are written.

    Raises:
        EvaluationError: The repository lacks the revision or the folders.
    """
    places = sorted({pattern.split("/")[0] for pattern in tree.include})
    command = ["git", "-C", str(repository), "archive", "--format=tar", tree.revision, "--", *places]
    result = subprocess.run(command, capture_output=True, check=False)  # fixed arguments
    if result.returncode:
        message = result.stderr.decode("utf-8", "replace").strip()
        raise EvaluationError(f"{repository}: {message or 'git archive failed'}; fetch {tree.repository} there")
    folder.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(result.stdout)) as archive:
        archive.extractall(folder, filter="data")
