"""Text of a repository's file as every reader sees it."""

from coderag.text.notebooks import NOTEBOOK_SUFFIX, render_notebook
from coderag.text.secret_values import remove_values


def to_readable_text(path: str, text: str) -> str:
    """Return the readable text of a file: cells of a notebook, names without values of a file of secrets, or the text itself.

    Every reader of repository files uses it, so that all see the same lines. Line numbers are those of the file.

    Args:
        path: Path of the file, separated by ``/``.
        text: Its decoded content.
    """
    return render_notebook(text) if path.lower().endswith(NOTEBOOK_SUFFIX) else remove_values(path, text)
