"""What embedding models have in common, on a server or in this process: batches, order and checked vectors."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event

import numpy as np
from numpy.typing import NDArray

from coderag.errors import ModelError
from coderag.text.token_counts import estimate_tokens

FloatArray = NDArray[np.float32]
Vectors = Sequence[Sequence[float]]
Positions = list[int]

_TOKEN_LIMIT_SHARE = (
    0.7  # of a request's limit: tokens are estimated, and other tokenizers make up to 1.2 times as many
)


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """What tells vectors that may be compared from others.

    Attributes:
        name: The model's, with all that its vectors depend on.
        dimension: Components that are wanted of it; None takes what comes.
    """

    name: str
    dimension: int | None = None


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What one request may hold.

    Attributes:
        texts: At most.
        tokens: Of all its texts together, at most; 0 is no limit.
        side_by_side: Requests at the same time.
    """

    texts: int
    tokens: int = 0
    max_concurrency: int = 1


class RequestStoppedError(Exception):
    """A request that waits is not sent any more, because another one failed."""


class BatchedEmbedding(ABC):
    """Embeds texts, some at a time."""

    def __init__(self, identity: ModelIdentity, limits: RequestLimits) -> None:
        self._identity = identity
        self._limits = limits
        self._dimension = 0

    @property
    def name(self) -> str:
        """What an index records of the model."""
        return self._identity.name

    @abstractmethod
    def prepare_text(self, text: str) -> str:
        """Return what the model sees of a text that is to be found: with its prefix, cut where it is too long."""

    @abstractmethod
    def _embed_batch(self, texts: Sequence[str], stopped: Event) -> Vectors:
        """Return one vector a text.

        Raises:
            Stopped: `stopped` was set before a request was sent again.
            ModelError: The model failed.
        """

    @abstractmethod
    def _embed_query(self, query: str) -> Sequence[float]:
        """Return the vector of a question."""

    @abstractmethod
    def _describe_source(self) -> str:
        """Return who sent vectors, for messages."""

    @property
    def dimension(self) -> int:
        """Number of components of a vector; asked of the model once, unless it has embedded something already."""
        if not self._dimension:
            self._check_vectors(self._embed_batch(["dimension"], Event()), 1)
        return self._dimension

    def embed_requests(self, texts: Sequence[str]) -> Iterator[tuple[Positions, FloatArray]]:
        """Embed texts that are to be found, and hand out what each request brought as soon as it is there.

        Whoever keeps each part loses nothing when a later request fails: those that are under way then are still
        handed out, and the error comes last.

        Yields:
            Positions of texts, and their vectors as the model gives them: float32, shape (len(positions), dimension);
            zeros for a blank text. All parts together hold each text once.

        Raises:
            ModelError: The model failed, or a reply is not one vector a text, all of one dimension.
        """
        blank = [position for position, text in enumerate(texts) if not text.strip()]
        for positions, vectors in self._run_requests(texts):
            yield positions, self._check_vectors(vectors, len(positions))
        if blank:
            yield blank, np.zeros((len(blank), self.dimension), np.float32)

    def embed_query(self, query: str) -> FloatArray:
        """Embed a question.

        Returns:
            float32 array, shape (dimension,), as the model gives it; zeros for a blank question.

        Raises:
            ModelError: The model failed, or its reply is not one vector of the dimension of the others.
        """
        if not query.strip():
            return np.zeros(self.dimension, np.float32)
        return self._check_vectors([self._embed_query(query)], 1).reshape(-1)

    def _run_requests(self, texts: Sequence[str]) -> Iterator[tuple[Positions, Vectors]]:
        """Yield the positions and vectors of each request."""
        pending = deque(split_requests(texts, self._limits))
        stopped = Event()
        if self._limits.max_concurrency == 1:  # in this thread, so that Ctrl-C ends it at once
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
        """Return the vectors as an array, having made sure that they can be used."""
        try:
            sizes = {len(vector) for vector in vectors}
        except TypeError as error:
            raise self._build_unusable_error("something else than vectors") from error
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
            raise self._build_unusable_error("vectors with components that are no numbers")
        self._dimension = dimension
        return array

    def _build_unusable_error(self, problem: str) -> ModelError:
        message = f"{self._describe_source()} sent {problem} for the model {self.name}"
        return ModelError(message, hint="Check that the model is one for embeddings and was not exchanged meanwhile.")


def to_valid_unicode(text: str) -> str:
    """Return a text as models can take it: valid Unicode."""
    return text.encode("utf-8", "replace").decode("utf-8")


def split_requests(texts: Sequence[str], limits: RequestLimits) -> Iterator[Positions]:
    """Yield the positions of the texts of each request, in order; blank texts are left out."""
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
