"""Adapter of CodeRAG, as configured or with some of its signals switched off."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from coderag import __version__
from coderag.config.sections import SWITCHABLE_SIGNALS
from coderag.errors import InvalidQueryError
from coderag.schema.answers import Answer
from coderag.schema.context import AssembledContext

from .engines import ContextSet
from .metrics import ContextLines
from .repository import Repository
from .runs import RankedResult, SettingValue

_SECTIONS = ("search", "reranker")


def check_signals(names: Sequence[str]) -> None:
    """Reject names of signals that cannot be switched off.

    Raises:
        InvalidQueryError: A name is no channel, signal or factor.
    """
    unknown = [name for name in names if name not in SWITCHABLE_SIGNALS]
    if unknown:
        hint = f"Give one of {', '.join(SWITCHABLE_SIGNALS)}."
        raise InvalidQueryError(f"cannot switch off unknown signal {unknown[0]!r}", hint=hint)


class CoderagEngine:
    """CodeRAG through its public interface."""

    name = "coderag"
    version = __version__

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._rag = repository.rag
        settings = repository.rag.settings
        flat = {
            key: value
            for section in _SECTIONS
            for key, value in _flatten(section, getattr(settings, section).model_dump(mode="json"))
        }
        self.settings: Mapping[str, SettingValue] = {**flat, "embedding": repository.embedding}

    def search(self, question: str, top_k: int) -> list[RankedResult]:
        """Return the best results."""
        return [
            RankedResult(
                path=str(hit.path),
                start_line=hit.start_line,
                end_line=hit.end_line,
                name=hit.qualified_name,
                score=round(hit.score, 6),
                channels={name: round(value, 4) for name, value in hit.channels.items()},
                signals={name: round(value, 4) for name, value in hit.signals.items()},
            )
            for hit in self._rag.search(question, top_k=top_k)
        ]

    def build_contexts(self, question: str, budgets: Sequence[int]) -> ContextSet:
        """Return the contexts, with the intent and verdict of the first of them."""
        contexts = [self._rag.context(question, token_budget=budget) for budget in budgets]
        lines = {context.token_budget: self._list_lines(context) for context in contexts}
        return ContextSet(lines, contexts[0].intent, contexts[0].evidence)

    def ask(self, question: str) -> Answer:
        """Return the answer in words."""
        return self._rag.ask(question)

    def _list_lines(self, context: AssembledContext) -> list[ContextLines]:
        return [
            ContextLines(
                item.path, self._repository.find_shown_lines(item.path, item.start_line, item.text, item.end_line)
            )
            for section in context.sections
            for item in section.items
            if item.path
        ]


def _flatten(prefix: str, value: Any) -> Iterator[tuple[str, SettingValue]]:  # noqa: ANN401  # settings nest to any depth
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flatten(f"{prefix}.{key}", inner)
    else:
        yield prefix, tuple(map(str, value)) if isinstance(value, list) else value
