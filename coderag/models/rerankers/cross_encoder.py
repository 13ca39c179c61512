"""Reranking by a cross-encoder in this process: a model that scores query and text together.

LlamaIndex's ``SentenceTransformerRerank`` is not used: it has no time budget, looks on the hub for models that are not
folders, and runs a model's own code.
"""

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from coderag.config.sections import RerankerSettings
from coderag.errors import ModelError
from coderag.models.model_folders import get_model_title
from coderag.models.protocols import RerankScores

_BATCH_SIZE = 4  # texts between two checks of the deadline


class CrossEncoderReranker:
    """Scores texts with a model of a sentence-transformers folder. Nothing is downloaded, and no code of it is run.

    Args:
        settings: The section ``reranker``.
        folder: Validated folder of the model.
        clock: Returns seconds; only differences matter.

    Attributes:
        name: Name such as ``cross-encoder/ms-marco-MiniLM-L6-v2``.
    """

    remote = False

    def __init__(self, settings: RerankerSettings, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.name = f"{settings.provider}/{get_model_title(folder)}"
        self.candidates = settings.candidates
        self._folder = folder
        self._device = settings.device
        self._budget_ms = settings.budget_ms
        self._clock = clock

    def rerank(self, query: str, texts: Sequence[str]) -> RerankScores:
        """Return one score per text, or none after the time budget. Loading the model does not count.

        Raises:
            ModelError: The model cannot be loaded, or fails.
        """
        model = self._model
        deadline = self._clock() + self._budget_ms / 1e3
        scores: list[float] = []
        for start in range(0, len(texts), _BATCH_SIZE):
            if self._clock() >= deadline:
                return RerankScores(None, f"{self._budget_ms} ms were over after {start} of {len(texts)} texts")
            scores += self._compute_scores(model, [(query, text) for text in texts[start : start + _BATCH_SIZE]])
        return RerankScores(scores)

    def _compute_scores(self, model: Any, pairs: list[tuple[str, str]]) -> list[float]:  # noqa: ANN401  # of an extra
        try:
            scores = np.asarray(model.predict(pairs, show_progress_bar=False), np.float64)
        except (RuntimeError, ValueError, TypeError, LookupError) as error:
            raise ModelError(f"the reranker {self.name} failed: {type(error).__name__}: {error}") from error
        if scores.shape != (len(pairs),) or not np.isfinite(scores).all():
            message = f"the reranker {self.name} does not return one finite number per text"
            raise ModelError(message, hint="Set reranker.model to the folder of a cross-encoder with a single label.")
        return list(map(float, scores))

    @cached_property
    def _model(self) -> Any:  # noqa: ANN401  # of an extra
        try:
            from sentence_transformers import CrossEncoder  # noqa: PLC0415  # an extra, and seconds

            return CrossEncoder(str(self._folder), device=self._device, local_files_only=True, trust_remote_code=False)
        except Exception as error:  # the libraries raise arbitrary exceptions
            message = f"{self._folder} cannot be loaded as a cross-encoder: {type(error).__name__}: {error}"
            hint = "Check that the folder is complete and that sentence-transformers is recent enough for it."
            raise ModelError(message, hint=hint) from error
