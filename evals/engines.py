"""Search engines that can be evaluated: CodeRAG and two baselines."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from coderag.errors import InvalidQueryError
from coderag.schema.vocabulary import Evidence

from .metrics import ContextLines
from .repository import Repository
from .runs import RankedResult, SettingValue


@dataclass(frozen=True, slots=True)
class ContextSet:
    """Contexts of an engine for one question, with its intent and verdict.

    Attributes:
        lines: Lines of the context for each token budget.
        intent: Intent that the engine detected; empty if it detects none.
        evidence: Its verdict; None if it gives none.
    """

    lines: Mapping[int, Sequence[ContextLines]]
    intent: str = ""
    evidence: Evidence | None = None


class SearchEngine(Protocol):
    """Search engine over one repository.

    Attributes:
        name: Name on the command line.
        version: Version of the engine.
        settings: Settings that affect the results, with dotted keys.
    """

    name: str
    version: str
    settings: Mapping[str, SettingValue]

    def search(self, question: str, top_k: int) -> list[RankedResult]:
        """Return the best results, best first."""
        ...

    def build_contexts(self, question: str, budgets: Sequence[int]) -> ContextSet:
        """Build a context for each token budget."""
        ...


def _make_coderag(repository: Repository) -> SearchEngine:
    from .coderag_engine import CoderagEngine  # noqa: PLC0415  # load only the engine in use

    return CoderagEngine(repository)


def _make_bm25(repository: Repository) -> SearchEngine:
    from .bm25_engine import Bm25Engine  # noqa: PLC0415  # as above

    return Bm25Engine(repository)


def _make_semble(repository: Repository) -> SearchEngine:
    from .semble_engine import SembleEngine  # noqa: PLC0415  # as above

    return SembleEngine(repository)


ENGINES: Final[Mapping[str, Callable[[Repository], SearchEngine]]] = MappingProxyType(
    {"coderag": _make_coderag, "bm25": _make_bm25, "semble": _make_semble}
)


def make_engine(name: str, repository: Repository) -> SearchEngine:
    """Create an engine for a repository.

    Raises:
        InvalidQueryError: No engine has this name.
        ConfigurationError: The engine is not installed.
    """
    if name not in ENGINES:
        raise InvalidQueryError(f"unknown engine {name!r}", hint=f"Use one of {', '.join(ENGINES)}.")
    return ENGINES[name](repository)
