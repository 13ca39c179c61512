"""Names that an index has, for the analysis of questions without one."""

from collections.abc import Sequence

from coderag.question.subjects import Resolved


class DeclaredNames:
    """An index with some declared names."""

    def __init__(self, *names: str, folders: Sequence[str] = ()) -> None:
        self._names = names
        self._folders = folders

    def resolve(self, words: Sequence[str]) -> Resolved | None:
        """Return the name that some words spell, in the same or another convention."""
        text = "_".join(words)
        folded = text.replace("_", "").lower().removesuffix("s")
        exact = next((name for name in self._names if name == text), None)
        if exact is not None:
            return Resolved(exact, 1.0)
        return next((Resolved(name, 0.7) for name in self._names if name.replace("_", "").lower() == folded), None)

    def has_word(self, word: str) -> bool:
        """Return whether a word is known, as all are."""
        return True

    def has_folder(self, name: str) -> bool:
        """Return whether a folder is called so."""
        return name in self._folders
