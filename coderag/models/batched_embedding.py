"""Base of embedding models, remote or local: batches, order and validated vectors."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from coderag.errors import ModelError
from coderag.text.token_counts import estimate_tokens

FloatArray = NDArray[np.float32]
Vectors = Sequence[Sequence[float]]
Positions = list[int]

PROBE_TEXT: Final = "dimension"
"""A text that every embedding model can embed."""

_TOKEN_LIMIT_SHARE = 0.7
"""Of a request's limit: tokens are estimated, and other tokenizers count up to 1.2 times as many."""


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Identity of a model: vectors of equal identity are comparable.

    Attributes:
        name: Name of the model, with everything that its vectors depend on.
        dimension: Requested number of components; None accepts any.
    """

    name: str
    dimension: int | None = None


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of a request.

    Attributes:
        texts: Maximum number of texts.
        tokens: Maximum number of tokens of all texts together; 0 is no limit.
        max_concurrency: Maximum number of concurrent requests.
    """

    texts: int
    tokens: int = 0
    max_concurrency: int = 1


class RequestStoppedError(Exception):
    """A pending request is not sent because another one failed."""


class BatchedEmbedding(ABC):
    """Embeds texts in batches.

    Attributes:
        has_vocabulary: Whether a text of unknown words alone has a vector of zeros; from other models zeros are an error.
    """

    has_vocabulary: ClassVar[bool] = False

    def __init__(self, identity: ModelIdentity, limits: RequestLimits) -> None:
        self._identity = identity
        self._limits = limits
        self._dimension = 0

    @property
    def name(self) -> str:
        """Name that an index records of the model."""
        return self._identity.name

    @abstractmethod
    def prepare_text(self, text: str) -> str:
        """Return a text as the model sees it: with its prefix, truncated."""

    @abstractmethod
    def _embed_batch(self, texts: Sequence[str], stopped: Event) -> Vectors:
        """Return one vector per text.

        Raises:
            Stopped: `stopped` was set before a request was sent again.
            ModelError: The model failed.
        """

    @abstractmethod
    def _embed_query(self, query: str) -> Sequence[float]:
        """Return the vector of a query."""

    @abstractmethod
    def _describe_source(self) -> str:
        """Return the source of the vectors, for messages."""

    @property
    def dimension(self) -> int:
        """Number of components of a vector; requested from the model unless it has embedded something."""
        if not self._dimension:
            self._refuse_zeros(self._check_vectors(self._embed_batch([PROBE_TEXT], Event()), 1))
        return self._dimension

    def embed_requests(self, texts: Sequence[str]) -> Iterator[tuple[Positions, FloatArray]]:
        """Embed texts, and yield the vectors of each request as soon as they arrive.

        When a request fails, the running ones are still yielded and the error is raised last, so a caller can keep every part.

        Yields:
            Positions of texts and their vectors, not normalized: float32, shape (len(positions), dimension); zeros for a
                blank text, and for one that a remote model rejects. Each text occurs once in all parts.

        Raises:
            ModelError: The model failed, or a reply does not have one vector per text, all of one dimension.
        """
        blank = [position for position, text in enumerate(texts) if not text.strip()]
        for positions, vectors in self._run_requests(texts):
            yield positions, self._check_vectors(vectors, len(positions))
        if blank:
            yield blank, np.zeros((len(blank), self.dimension), np.float32)

    def embed_query(self, query: str) -> FloatArray:
        """Embed a query.

        Returns:
            float32 array, shape (dimension,), not normalized; zeros for a blank query.

        Raises:
            ModelError: The model failed, or its reply is not a vector of the model's dimension.
        """
        if not query.strip():
            return np.zeros(self.dimension, np.float32)
        vectors = self._check_vectors([self._embed_query(query)], 1)
        self._refuse_zeros(vectors)
        return vectors.reshape(-1)

    def _refuse_zeros(self, vectors: FloatArray) -> None:
        """Raise if a vector of zeros is no valid one."""
        if not self.has_vocabulary and not vectors.any():
            raise self._build_unusable_error("a vector of zeros")

    def _run_requests(self, texts: Sequence[str]) -> Iterator[tuple[Positions, Vectors]]:
        """Yield the positions and vectors of each request."""
        pending = deque(split_requests(texts, self._limits))
        stopped = Event()
        if self._limits.max_concurrency == 1:  # in this thread, so that Ctrl-C takes effect at once
            for batch in pending:
                yield batch, self._embed_batch([texts[i] for i in batch], stopped)
            return
        executor = ThreadPoolExecutor(self._limits.max_concurrency, thread_name_prefix="embedding")
        running: dict[Future[Vectors], Positions] = {}
        failure: Exception | None = None
        try:
            while running or (pending and failure is None):
                while pending and failure is None and len(running) < self._limits.max_concurrency:
                    batch = pending.popleft()
                    running[executor.submit(self._embed_batch, [texts[i] for i in batch], stopped)] = batch
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    positions = running.pop(future)
                    error = future.exception()
                    if error is None:
                        yield positions, future.result()
                    elif isinstance(error, Exception):
                        stopped.set()
                        failure = failure or error
        finally:
            stopped.set()
            executor.shutdown(wait=False, cancel_futures=True)
        if failure is not None:
            raise failure

    def _check_vectors(self, vectors: Vectors, expected: int) -> FloatArray:
        """Convert vectors to an array, and validate it."""
        try:
            sizes = {len(vector) for vector in vectors}
        except TypeError as error:
            raise self._build_unusable_error("values that are not vectors") from error
        if len(vectors) != expected or len(sizes) != 1 or 0 in sizes:
            received = f"{len(vectors)} vectors of {', '.join(map(str, sorted(sizes))) or 'no'} components"
            raise self._build_unusable_error(f"{received}, not {expected} of one size,")
        dimension = sizes.pop()
        configured = self._identity.dimension
        if configured not in {None, dimension}:
            raise self._build_unusable_error(
                f"vectors of {dimension} components, not embedding.dimension ({configured}),"
            )
        if self._dimension not in {0, dimension}:
            raise self._build_unusable_error(f"vectors of {dimension} components after vectors of {self._dimension}")
        try:
            with np.errstate(over="ignore"):
                array = np.asarray(vectors, np.float64).astype(np.float32)
        except (TypeError, ValueError):
            array = np.full((expected, dimension), np.nan, np.float32)
        if not np.isfinite(array).all():
            raise self._build_unusable_error("vectors with components that are not finite numbers")
        self._dimension = dimension
        return array

    def _build_unusable_error(self, problem: str) -> ModelError:
        message = f"{self._describe_source()} sent {problem} for the model {self.name}"
        return ModelError(message, hint="Check that it is an embedding model and was not replaced in the meantime.")


def to_valid_unicode(text: str) -> str:
    """Convert a text to valid Unicode, as models require."""
    return text.encode("utf-8", "replace").decode("utf-8")


def split_requests(texts: Sequence[str], limits: RequestLimits) -> Iterator[Positions]:
    """Yield the positions of the texts of each request, in order, without blank texts."""
    batch: Positions = []
    tokens = 0
    max_tokens = _TOKEN_LIMIT_SHARE * limits.tokens
    for position, text in enumerate(texts):
        if not text.strip():
            continue
        size = estimate_tokens(text.encode("utf-8", "replace")) if max_tokens else 0
        if batch and (len(batch) == limits.texts or tokens + size > max_tokens > 0):
            yield batch
            batch, tokens = [], 0
        batch.append(position)
        tokens += size
    if batch:
        yield batch
