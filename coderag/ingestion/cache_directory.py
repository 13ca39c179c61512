"""Where the content cache of a repository lies."""

from pathlib import Path

from coderag.config.index_origin import is_foreign_index
from coderag.config.repository_root import INDEX_FOLDER
from coderag.ingestion.files.git_repository import is_bare, shared_git_directory


def resolve_cache_directory(root: Path, index_directory: Path) -> Path:
    """Return where the cache of a repository lies: the same place for all its working trees.

    It is ``cache`` in the index's directory; for a linked working tree of git, that of the main one, or ``coderag/cache`` in
    the git directory where that has no main working tree. Whoever packed both can have filled it: a git directory within the
    tree, or a main tree whose index is not this user's own, is not shared with.

    Args:
        root: Folder of the repository.
        index_directory: The index's directory.
    """
    shared_git = shared_git_directory(root)
    if shared_git is None or shared_git.is_relative_to(root.resolve()):
        return index_directory / "cache"
    if shared_git.name == ".git" and not is_bare(shared_git):
        main_worktree = shared_git.parent
        return (index_directory if is_foreign_index(main_worktree) else main_worktree / INDEX_FOLDER) / "cache"
    return shared_git / "coderag" / "cache"
