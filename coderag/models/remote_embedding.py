"""Embedding model on a server: prefixes, retries, and texts that the server finds too long."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event
from typing import TYPE_CHECKING

from coderag.models.batched_embedding import (
    BatchedEmbedding,
    ModelIdentity,
    RequestLimits,
    RequestStoppedError,
    Vectors,
    to_valid_unicode,
)
from coderag.models.prefixes import Prefixes
from coderag.models.remote_errors import Remote, RetryPolicy, find_fault, translate_remote_errors
from coderag.models.text_window import TextWindow

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding

_INDEXING_POLICY = RetryPolicy(busy_attempts=8)  # about 90 s: rate limits are mostly per minute
_SEARCH_POLICY = RetryPolicy()
_MIN_CUT_CHARS = 32  # a server that rejects less rejects something else


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
            return self._send(sent, stopped)

    def _embed_query(self, query: str) -> Sequence[float]:
        sent = self._window.cut(self._prefixes.query + to_valid_unicode(query))
        with translate_remote_errors(self._remote):
            return self._send_query(sent)

    def _describe_source(self) -> str:
        return f"{self._remote.provider} at {self._remote.address}"

    def _send(self, sent: list[str], stopped: Event) -> Vectors:
        """Request the vectors of texts; too many are halved, and a single long text is truncated to half."""

        def request() -> Vectors:
            if stopped.is_set():
                raise RequestStoppedError
            return self._model.get_text_embedding_batch(sent)

        try:
            return _INDEXING_POLICY.call(request, self._sleep)
        except Exception as error:
            if not _is_too_long(error) or (len(sent) == 1 and _is_short(sent[0], self._prefixes.text)):
                raise
        # Outside the handler: exceptions from here on must not be chained to the rejection.
        if len(sent) == 1:
            return self._send([_cut_in_half(sent[0], self._prefixes.text)], stopped)
        half = len(sent) // 2
        return [*self._send(sent[:half], stopped), *self._send(sent[half:], stopped)]

    def _send_query(self, sent: str) -> Sequence[float]:
        try:
            return _SEARCH_POLICY.call(partial(self._model.get_query_embedding, sent), self._sleep)
        except Exception as error:
            if not _is_too_long(error) or _is_short(sent, self._prefixes.query):
                raise
        return self._send_query(_cut_in_half(sent, self._prefixes.query))


def _is_too_long(error: Exception) -> bool:
    fault = find_fault(error)
    return fault is not None and fault.is_too_long


def _is_short(sent: str, prefix: str) -> bool:
    return len(sent) - len(prefix) <= _MIN_CUT_CHARS


def _cut_in_half(sent: str, prefix: str) -> str:
    """Halve the part of a text that follows its prefix."""
    return sent[: len(prefix) + (len(sent) - len(prefix)) // 2]
