"""Adapter of semble, an optional baseline: static embeddings, BM25 and ranking signals, in memory."""

from collections.abc import Mapping, Sequence
from importlib import import_module, metadata
from pathlib import Path

from coderag.errors import ConfigurationError

from .engines import ContextSet
from .packing import pack
from .repository import Repository
from .runs import RankedResult, SettingValue

_MAX_PACKED_RESULTS = 200


class SembleEngine:
    """semble with its own index and model (``SEMBLE_MODEL_NAME`` selects another model or a local folder).

    Raises:
        ConfigurationError: semble is not installed.
    """

    name = "semble"

    def __init__(self, repository: Repository) -> None:
        try:
            semble = import_module("semble")
        except ImportError as error:
            hint = "Install it: pip install semble."
            raise ConfigurationError("the engine semble is not installed", hint=hint) from error
        self.version = metadata.version("semble")
        self.settings: Mapping[str, SettingValue] = {}
        self._repository = repository
        try:
            self._index = semble.SembleIndex.from_path(str(repository.root))
        except ValueError:  # semble supports none of the languages here, so it has no results
            self._index = None

    def search(self, question: str, top_k: int) -> list[RankedResult]:
        """Return the best chunks."""
        return [
            RankedResult(
                path=self._to_relative(result.chunk.file_path),
                start_line=result.chunk.start_line,
                end_line=result.chunk.end_line,
                score=round(float(result.score), 6),
            )
            for result in (self._index.search(question, top_k=top_k) if self._index else ())
        ]

    def build_contexts(self, question: str, budgets: Sequence[int]) -> ContextSet:
        """Pack as many of the best chunks as fit each budget."""
        results = self.search(question, _MAX_PACKED_RESULTS)
        return ContextSet({budget: pack(results, budget, self._repository) for budget in budgets})

    def _to_relative(self, path: str) -> str:
        place = Path(path)
        return (place.relative_to(self._repository.root) if place.is_absolute() else place).as_posix()
