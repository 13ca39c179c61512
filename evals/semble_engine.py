"""semble, the fastest peer, where it is installed: static embeddings, BM25 and ranking signals, in memory."""

from collections.abc import Mapping, Sequence
from importlib import import_module, metadata
from pathlib import Path

from coderag.errors import ConfigurationError

from .engines import Look
from .packing import pack
from .repository import Repository
from .runs import RankedResult, SettingValue

_PACKED = 200


class SembleEngine:
    """semble with its own index and its own model (``SEMBLE_MODEL_NAME`` names another, or a local folder).

    Raises:
        ConfigurationError: It is not installed.
    """

    name = "semble"

    def __init__(self, repository: Repository) -> None:
        try:
            semble = import_module("semble")
        except ImportError as error:
            hint = "Install it beside CodeRAG: pip install semble."
            raise ConfigurationError("the engine semble is not installed", hint=hint) from error
        self.version = metadata.version("semble")
        self.settings: Mapping[str, SettingValue] = {}
        self._repository = repository
        try:
            self._index = semble.SembleIndex.from_path(str(repository.root))
        except ValueError:  # it reads none of the languages here, so it finds nothing
            self._index = None

    def search(self, question: str, top_k: int) -> list[RankedResult]:
        """Return its best chunks."""
        return [
            RankedResult(
                path=self._relative(found.chunk.file_path),
                start_line=found.chunk.start_line,
                end_line=found.chunk.end_line,
                score=round(float(found.score), 6),
            )
            for found in (self._index.search(question, top_k=top_k) if self._index else ())
        ]

    def look(self, question: str, budgets: Sequence[int]) -> Look:
        """Return as many of its best chunks as fit each budget."""
        results = self.search(question, _PACKED)
        return Look({budget: pack(results, budget, self._repository) for budget in budgets})

    def _relative(self, path: str) -> str:
        place = Path(path)
        return (place.relative_to(self._repository.root) if place.is_absolute() else place).as_posix()
