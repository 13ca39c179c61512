"""Embedding model on a server: prefixes, retries, and texts that the server finds too long or cannot embed.

A server may fail on one text: with an error or a broken reply for the whole request, with a vector of zeros, NaN or
``null``, of another size, or with none. If it embeds another text, the request is halved until the text stands alone; its
vector is then zeros, and all others have theirs.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event
from typing import TYPE_CHECKING

import numpy as np

from coderag.models.batched_embedding import (
    PROBE_TEXT,
    BatchedEmbedding,
    ModelIdentity,
    RequestLimits,
    RequestStoppedError,
    Vectors,
    to_valid_unicode,
)
from coderag.models.prefixes import Prefixes
from coderag.models.remote_errors import Remote, RequestFault, RetryPolicy, find_fault, translate_remote_errors
from coderag.models.text_window import TextWindow

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding

_INDEXING_POLICY = RetryPolicy(busy_attempts=8)  # about 90 s: rate limits are mostly per minute
_SEARCH_POLICY = RetryPolicy()
_ISOLATING_POLICY = RetryPolicy(attempts=1, busy_attempts=8)  # the server has failed on the texts already
_MIN_CONCLUSIVE_TEXTS = 4  # if a model rejects all of so many texts, it is at fault
_MIN_CUT_CHARS = 32  # a server that rejects less rejects something else


class _MalformedReplyError(ValueError):
    """A reply does not have one vector for each text, all of one size.

    Args:
        vectors: What the reply has instead.
    """

    def __init__(self, vectors: Vectors) -> None:
        super().__init__("the reply does not have one vector for each text")
        self.vectors = vectors


class RemoteEmbedding(BatchedEmbedding):
    """An embedding model on a server.

    Args:
        model: The LlamaIndex model.
        remote: The server, for messages.
        identity: Identity of the model in the index.
        limits: Limits of a request.
        prefixes: Prefixes of queries and texts.
        window: Truncates texts.
        sleep: Waits between repeated requests, given seconds.
    """

    def __init__(
        self,
        model: "BaseEmbedding",
        remote: Remote,
        identity: ModelIdentity,
        limits: RequestLimits,
        *,
        prefixes: Prefixes,
        window: TextWindow,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(identity, limits)
        self._model = model
        self._remote = remote
        self._prefixes = prefixes
        self._window = window
        self._sleep = sleep

    def prepare_text(self, text: str) -> str:
        """Return a text as the server receives it: with the model's prefix, truncated."""
        return self._window.cut(self._prefixes.text + to_valid_unicode(text))

    def _embed_batch(self, texts: Sequence[str], stopped: Event) -> Vectors:
        sent = [self.prepare_text(text) for text in texts]
        with translate_remote_errors(self._remote):
            try:
                return self._embed_sent(sent, stopped)
            except _MalformedReplyError as error:
                return error.vectors  # whose validation names the problem

    def _embed_sent(self, sent: list[str], stopped: Event) -> Vectors:
        vectors = self._send(sent, stopped)
        if sent == [self.prepare_text(PROBE_TEXT)]:
            return vectors
        vectors = [
            self._replace_unusable(text, vector, stopped, alone=len(sent) == 1)
            for text, vector in zip(sent, vectors, strict=True)
        ]
        if len(sent) >= _MIN_CONCLUSIVE_TEXTS and all(map(_is_unusable, vectors)):
            raise self._build_unusable_error("only vectors of zeros or NaN")
        return vectors

    def _replace_unusable(self, text: str, vector: Sequence[float], stopped: Event, *, alone: bool) -> Sequence[float]:
        """Return the vector of a text; request an unusable one without the other texts, which may be the cause."""
        if _is_unusable(vector) and not alone:
            [vector] = self._send([text], stopped, _ISOLATING_POLICY)
        return [0.0] * len(vector) if _is_unusable(vector) else vector

    def _embed_query(self, query: str) -> Sequence[float]:
        sent = self._window.cut(self._prefixes.query + to_valid_unicode(query))
        with translate_remote_errors(self._remote):
            return self._send_query(sent)

    def _describe_source(self) -> str:
        return f"{self._remote.provider} at {self._remote.address}"

    def _send(self, sent: list[str], stopped: Event, policy: RetryPolicy = _INDEXING_POLICY) -> Vectors:
        """Request the vectors of texts.

        Too many are halved, and a single long text is truncated to half. A text that fails by itself has a vector of zeros.
        """

        def request() -> Vectors:
            if stopped.is_set():
                raise RequestStoppedError
            vectors = self._model.get_text_embedding_batch(sent)
            if not self._has_vector_of_each(sent, vectors):
                raise _MalformedReplyError(vectors)
            return vectors

        try:
            return policy.call(request, self._sleep)
        except Exception as error:
            failure, fault = error, find_fault(error)
            if fault is None or not self._can_send_less(sent, fault):
                raise
        # Outside the handler: exceptions from here on must not be chained to the rejection.
        if len(sent) == 1 and fault.is_too_long:
            return self._send([_cut_in_half(sent[0], self._prefixes.text)], stopped)
        if len(sent) == 1 and policy is not _ISOLATING_POLICY:
            return self._send(sent, stopped, _ISOLATING_POLICY)  # a broken reply may be an accident
        if len(sent) == 1:
            return [[0.0] * self.dimension]
        half, policy = len(sent) // 2, policy if fault.is_too_long else _ISOLATING_POLICY
        vectors = [*self._send(sent[:half], stopped, policy), *self._send(sent[half:], stopped, policy)]
        if len(sent) >= _MIN_CONCLUSIVE_TEXTS and all(map(_is_unusable, vectors)):
            raise failure
        return vectors

    def _has_vector_of_each(self, sent: Sequence[str], vectors: Vectors) -> bool:
        """Return whether a reply has one vector for each text, all of the model's size if that is known."""
        try:
            shape = np.asarray(vectors, np.float64).shape
        except (TypeError, ValueError):
            return False
        return len(shape) == 2 and shape[0] == len(sent) and shape[1] > 0 and self._dimension in {0, shape[1]}

    def _can_send_less(self, sent: Sequence[str], fault: RequestFault) -> bool:
        """Return whether fewer or shorter texts may succeed after a fault."""
        if fault.is_too_long:
            return len(sent) > 1 or not _is_short(sent[0], self._prefixes.text)
        return fault.is_about_text and sent != [self.prepare_text(PROBE_TEXT)] and self._can_embed_another()

    def _can_embed_another(self) -> bool:
        """Return whether the server embeds a text that every model can, so that its failure is about other texts."""
        try:
            request = partial(self._model.get_text_embedding_batch, [self.prepare_text(PROBE_TEXT)])
            return bool(self._check_vectors(_ISOLATING_POLICY.call(request, self._sleep), 1).any())
        except Exception:  # noqa: BLE001  # the first failure is reported
            return False

    def _send_query(self, sent: str) -> Sequence[float]:
        try:
            return _SEARCH_POLICY.call(partial(self._model.get_query_embedding, sent), self._sleep)
        except Exception as error:
            if not _is_too_long(error) or _is_short(sent, self._prefixes.query):
                raise
        return self._send_query(_cut_in_half(sent, self._prefixes.query))


def _is_unusable(vector: Sequence[float]) -> bool:
    """Return whether a vector says nothing: zeros only, or components that are not finite numbers."""
    components = np.asarray(vector, np.float64)  # NaN for ``null``
    return not (components.any() and np.isfinite(components).all())


def _is_too_long(error: Exception) -> bool:
    fault = find_fault(error)
    return fault is not None and fault.is_too_long


def _is_short(sent: str, prefix: str) -> bool:
    return len(sent) - len(prefix) <= _MIN_CUT_CHARS


def _cut_in_half(sent: str, prefix: str) -> str:
    """Halve the part of a text that follows its prefix."""
    return sent[: len(prefix) + (len(sent) - len(prefix)) // 2]
