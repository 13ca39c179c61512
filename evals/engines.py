"""The engines that can be measured: CodeRAG, and two to compare it with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from coderag.errors import InvalidQueryError
from coderag.schema.vocabulary import Evidence

from .metrics import Shown
from .repository import Repository
from .runs import RankedResult, SettingValue


@dataclass(frozen=True, slots=True)
class Look:
    """What an engine makes of a question beside its results.

    Attributes:
        intent: What it takes the question for; empty if it does not say.
        evidence: Its verdict; None if it gives none.
        shown: The lines of its context, by token budget.
    """

    shown: Mapping[int, Sequence[Shown]]
    intent: str = ""
    evidence: Evidence | None = None


class Engine(Protocol):
    """Something that ranks places of one repository.

    Attributes:
        name: As on the command line.
        version: Of the engine.
        settings: What its results depend on, flat.
    """

    name: str
    version: str
    settings: Mapping[str, SettingValue]

    def search(self, question: str, top_k: int) -> list[RankedResult]:
        """Return the best places, best first."""
        ...

    def look(self, question: str, budgets: Sequence[int]) -> Look:
        """Return the contexts for a question, and what the engine says of it."""
        ...


def _coderag(repository: Repository) -> Engine:
    from .coderag_engine import CoderagEngine  # noqa: PLC0415  # only the engine that is asked for is loaded

    return CoderagEngine(repository)


def _bm25(repository: Repository) -> Engine:
    from .bm25_engine import Bm25Engine  # noqa: PLC0415  # as above

    return Bm25Engine(repository)


def _semble(repository: Repository) -> Engine:
    from .semble_engine import SembleEngine  # noqa: PLC0415  # as above

    return SembleEngine(repository)


ENGINES: Final[Mapping[str, Callable[[Repository], Engine]]] = MappingProxyType(
    {"coderag": _coderag, "bm25": _bm25, "semble": _semble}
)


def make_engine(name: str, repository: Repository) -> Engine:
    """Return an engine for a repository.

    Raises:
        InvalidQueryError: There is no such engine.
        ConfigurationError: It is not installed.
    """
    if name not in ENGINES:
        raise InvalidQueryError(f"there is no engine {name!r}", hint=f"Give one of {', '.join(ENGINES)}.")
    return ENGINES[name](repository)
