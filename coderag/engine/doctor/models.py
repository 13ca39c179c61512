"""Checks of the configured models: they answer, and match the settings and the index."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from coderag.engine.doctor.probes import LOCAL_TIMEOUT_S, Finding, Probe
from coderag.engine.doctor.servers import (
    ServedModel,
    find_embedding_server,
    find_reranker_server,
    make_llm_server,
    make_server_probes,
)
from coderag.engine.doctor.setup import Setup
from coderag.errors import IndexModelError, ModelError, ModelUnavailableError, StoreError
from coderag.models.llms.providers import make_language_model
from coderag.models.providers import make_dense_model
from coderag.models.rerankers.providers import make_reranker

_SAMPLE: Final = "open a session for a user"
_OTHER_SAMPLE: Final = "the mean of some numbers"
_IMPORT_ALLOWANCE_S = 30.0  # allowance for importing libraries, on top of the request
_MAX_REPLY_CHARS = 40  # characters of a reply
_IN_PROCESS_PROVIDERS = ("embedded", "sentence-transformers", "model2vec", "cross-encoder")


def make_model_probes(setup: Setup) -> Iterator[Probe]:
    """Yield the probes of the models, one for each model that is not configured."""
    settings = setup.settings
    embedding, llm, reranker = settings.embedding, settings.llm, settings.reranker
    limit = setup.limit_s(embedding.timeout_s)
    yield from _make_section_probes(
        "embedding", embedding.provider, partial(_check_embedding, setup, limit), limit, find_embedding_server(setup)
    )
    if llm.provider == "none":
        yield Probe("llm.request", lambda: Finding("not configured: answers are extracted from the code"))
    else:
        limit = setup.limit_s(llm.timeout_s)
        yield from _make_section_probes(
            "llm", llm.provider, partial(_check_language_model, setup, limit), limit, make_llm_server(setup)
        )
    if reranker.provider == "none":
        yield Probe("reranker.request", lambda: Finding("not configured: results are ordered by ranking signals"))
    else:
        limit = setup.limit_s(max(LOCAL_TIMEOUT_S, reranker.budget_ms / 1e3))
        yield from _make_section_probes(
            "reranker", reranker.provider, partial(_check_reranker, setup), limit, find_reranker_server(setup)
        )


def _make_section_probes(
    section: str, provider: str, request: Callable[[], Finding], limit_s: float, served_model: ServedModel | None
) -> Iterator[Probe]:
    server_checks: Sequence[Probe] = list(make_server_probes(section, served_model)) if served_model else ()
    yield from server_checks
    yield Probe(
        f"{section}.request",
        request,
        connects=provider not in _IN_PROCESS_PROVIDERS,
        needs=[probe.name for probe in server_checks],
        timeout_s=limit_s + _IMPORT_ALLOWANCE_S,
        timeout_error=ModelUnavailableError,
    )


def _check_embedding(setup: Setup, limit_s: float) -> Finding:
    """Embed a sample question and compare the vector with the index."""
    model = make_dense_model(_with_timeout(setup.settings.embedding, limit_s))
    started = time.perf_counter()
    vector = model.embed_query(_SAMPLE, _SAMPLE.split())
    elapsed = _format_elapsed(started)
    info, pointer = model.info, None
    with suppress(StoreError):  # reported by another check
        pointer = setup.store.read_pointer()
    indexed = pointer.embedding if pointer else None
    if indexed and (indexed.provider, indexed.model) == (info.provider, info.model):
        if indexed.dimension != vector.size:
            message = f"{info.name} gives vectors of {vector.size} components, and those of the index have {indexed.dimension}"
            raise IndexModelError(message, hint="Set embedding.dimension back, or run `coderag index` to switch.")
        return Finding(f"{info}, as in the index; a question took {elapsed}")
    return Finding(f"{info}; a question took {elapsed}")


def _check_language_model(setup: Setup, limit_s: float) -> Finding:
    """Request a short completion from the model."""
    import llama_index.core.base.llms.types  # noqa: F401, PLC0415  # takes seconds, which are not the model's

    model = make_language_model(_with_timeout(setup.settings.llm, limit_s))
    if model is None:
        raise ModelError("llm.provider is none")
    prompt = setup.prompts.load("check_model").render()
    started = time.perf_counter()
    reply = asyncio.run(model.complete(prompt))
    elapsed = _format_elapsed(started)
    text = " ".join(reply.text.split())
    excerpt = text if len(text) <= _MAX_REPLY_CHARS else f"{text[:_MAX_REPLY_CHARS]}..."
    return Finding(f'{model.name} replied "{excerpt}" in {elapsed}')


def _check_reranker(setup: Setup) -> Finding:
    """Rerank two sample texts."""
    model = make_reranker(setup.settings.reranker, setup.prompts)
    if model is None:
        raise ModelError("reranker.provider is none")
    started = time.perf_counter()
    result = model.rerank(_SAMPLE, [_SAMPLE, _OTHER_SAMPLE])
    elapsed = _format_elapsed(started)
    if result.scores is None:
        hint = "Try again: the first request loads the model. Otherwise raise reranker.budget_ms."
        return Finding(f"{model.name} scored nothing: {result.note}", hint, "note")
    return Finding(f"{model.name} scored two texts in {elapsed}")


def _with_timeout(settings: Any, limit_s: float) -> Any:  # noqa: ANN401  # a section of the settings, and the same kind back
    return settings.model_copy(update={"timeout_s": limit_s})


def _format_elapsed(started: float) -> str:
    return f"{(time.perf_counter() - started) * 1e3:,.0f} ms"
