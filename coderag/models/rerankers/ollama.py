"""Reranking by a language model of an Ollama server: pointwise scores, or a listwise order.

LlamaIndex's ``LLMRerank`` is not used: it has no time budget, fails on an invalid number, and drops texts that the model
did not name. Here Ollama constrains the reply by a JSON schema.
"""

import json
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import httpx

from coderag.config.sections import RerankerSettings
from coderag.config.server_addresses import parse_server_address
from coderag.models.llms.servers import OLLAMA_MODEL
from coderag.models.protocols import RerankScores
from coderag.models.providers import build_ollama_options
from coderag.models.remote_errors import Remote, RequestFault, build_model_error, translate_remote_errors
from coderag.models.text_window import CountedWindow
from coderag.prompting import PACKAGED, Prompts
from coderag.text.code_fences import make_fence

_PROMPT_TOKENS = 512  # for the rules, the fences and the reply
_QUESTION_DIVISOR = 4  # at most a quarter of the context window
_MAX_SCORE = 10


class _NoScoresError(Exception):
    """The model's reply has no scores, or the time budget is spent; the message states which."""


class OllamaReranker:
    """Scores texts with a model of an Ollama server.

    Args:
        settings: The section ``reranker``.
        clock: Returns seconds; only differences matter.
        prompts: Prompts of the repository.

    Attributes:
        name: Name such as ``ollama/qwen2.5-coder``.
    """

    remote = True

    def __init__(
        self, settings: RerankerSettings, clock: Callable[[], float] = time.monotonic, prompts: Prompts = PACKAGED
    ) -> None:
        model = settings.model or OLLAMA_MODEL
        self.name = f"{settings.provider}/{model}"
        self.candidates = settings.candidates
        self._settings = settings
        self._clock = clock
        self._prompts = prompts
        self._remote = Remote(
            provider="ollama",
            model=model,
            address=parse_server_address(settings.base_url, "reranker.base_url"),
            section="reranker",
            timeout_s=settings.budget_ms / 1e3,
        )

    def rerank(self, query: str, texts: Sequence[str]) -> RerankScores:
        """Return one score per text, or none if the time budget is spent or the reply has no scores.

        Raises:
            ModelError: The server cannot be reached, has no such model, or replies with an error.
        """
        deadline = self._clock() + self._settings.budget_ms / 1e3
        score = self._score_listwise if self._settings.mode == "listwise" else self._score_pointwise
        question = CountedWindow(self._settings.context_window // _QUESTION_DIVISOR).cut(query)
        try:
            return RerankScores(score(_fence_text(question), texts, deadline))
        except _NoScoresError as error:
            return RerankScores(None, str(error))

    def _score_pointwise(self, question: str, texts: Sequence[str], deadline: float) -> list[float]:
        window, prompt = self._build_window(1), self._prompts.load("rerank_pointwise")
        limits = {"type": "integer", "minimum": 0, "maximum": _MAX_SCORE}
        scores = []
        for text in texts:
            prompt_text = prompt.render(question=question, passage=_fence_text(window.cut(text))).text
            score = self._request_value(prompt_text, "score", limits, deadline)
            if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= _MAX_SCORE:
                raise _NoScoresError("a reply of the model has no score")
            scores.append(float(score))
        return scores

    def _score_listwise(self, question: str, texts: Sequence[str], deadline: float) -> list[float]:
        window = self._build_window(len(texts))
        passages = "\n\n".join(f"[{number}]\n{_fence_text(window.cut(text))}" for number, text in enumerate(texts, 1))
        limits = {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": len(texts)}}
        prompt_text = self._prompts.load("rerank_listwise").render(question=question, passages=passages).text
        order = self._request_value(prompt_text, "order", limits, deadline)
        numbers = [number for number in order if type(number) is int] if isinstance(order, list) else []
        ranks = {number: rank for rank, number in enumerate(dict.fromkeys(numbers)) if 1 <= number <= len(texts)}
        if not ranks:
            raise _NoScoresError("the model's reply names none of the texts")
        return [float(len(texts) - ranks.get(number, len(texts))) for number in range(1, len(texts) + 1)]

    def _build_window(self, n_texts: int) -> CountedWindow:
        """Build the window of each of some texts within the context window."""
        window = self._settings.context_window
        return CountedWindow(max(32, (window - window // _QUESTION_DIVISOR - _PROMPT_TOKENS) // n_texts))

    def _request_value(self, prompt: str, key: str, limits: dict[str, Any], deadline: float) -> Any:  # noqa: ANN401  # the model's
        """Request a value; return None if the reply is not valid JSON with `key`.

        Raises:
            _NoScoresError: The time budget is spent.
            ModelError: The request failed.
        """
        body = {
            "model": self._remote.model,
            "messages": [{"role": "user", "content": prompt}],
            "stream": False,
            "format": {"type": "object", "properties": {key: limits}, "required": [key]},
            "options": {"temperature": 0, "num_ctx": self._settings.context_window},
        }
        with translate_remote_errors(self._remote):
            reply = self._post(body, deadline)
            content = None if reply is None else str(json.loads(reply)["message"]["content"])
        if content is None:
            raise _NoScoresError(f"{self._settings.budget_ms} ms were over")
        try:
            parsed = json.loads(content)
        except ValueError:
            return None
        return parsed.get(key) if isinstance(parsed, dict) else None

    def _post(self, body: dict[str, Any], deadline: float) -> bytes | None:
        """Return the reply to a request, or None if it is incomplete at the deadline."""
        remaining_s = deadline - self._clock()
        if remaining_s <= 0:
            return None
        reply = b""
        try:
            with self._client.stream("POST", "/api/chat", json=body, timeout=remaining_s) as response:
                if response.is_error:
                    response.read()
                    response.raise_for_status()
                for part in response.iter_bytes():  # the timeout applies to each part, not to the whole reply
                    if self._clock() >= deadline:
                        return None
                    reply += part
        except httpx.ConnectTimeout as error:
            fault = RequestFault("unreachable", detail=f"no connection within {remaining_s:.1f} s")
            raise build_model_error(fault, self._remote) from error
        except httpx.TimeoutException:
            return None
        return reply

    @cached_property
    def _client(self) -> httpx.Client:
        options = build_ollama_options(self._remote.address, self._remote.timeout_s)
        return httpx.Client(base_url=self._remote.address, **options)


def _fence_text(text: str) -> str:
    """Fence a text so that nothing in it can close the fence."""
    fence = make_fence(text)
    return f"{fence}\n{text}\n{fence}"
