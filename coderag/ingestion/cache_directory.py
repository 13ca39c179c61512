"""Location of a repository's content cache."""

from pathlib import Path

from coderag.config.index_origin import is_foreign_index
from coderag.config.repository_root import INDEX_FOLDER
from coderag.ingestion.files.git_repository import find_shared_git_directory, is_bare


def resolve_cache_directory(root: Path, index_directory: Path) -> Path:
    """Resolve the folder of the content cache, which all work trees of a repository share.

    It is ``cache`` in the index's directory. A linked work tree uses the cache of the main work tree, or ``coderag/cache``
    in the git directory of a bare repository. A cache that came with the repository is not trusted, so it is not shared: a
    git directory within the tree, or a main work tree whose index this user has not built.

    Args:
        root: Folder of the repository.
        index_directory: The index's directory.
    """
    shared_git = find_shared_git_directory(root)
    if shared_git is None or shared_git.is_relative_to(root.resolve()):
        return index_directory / "cache"
    if shared_git.name == ".git" and not is_bare(shared_git):
        main_worktree = shared_git.parent
        return (index_directory if is_foreign_index(main_worktree) else main_worktree / INDEX_FOLDER) / "cache"
    return shared_git / "coderag" / "cache"
