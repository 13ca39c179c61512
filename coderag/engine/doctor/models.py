"""Do the models of the settings answer, and are they what the settings and the index say?"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from coderag.engine.doctor.probes import LOCAL_TIMEOUT_S, Finding, Probe
from coderag.engine.doctor.servers import Served, embedding_server, llm_server, reranker_server, server_probes
from coderag.engine.doctor.setup import Setup
from coderag.errors import IndexModelError, ModelError, ModelUnavailableError, StoreError
from coderag.models.llms.providers import make_language_model
from coderag.models.providers import make_dense_model
from coderag.models.rerankers.providers import make_reranker

_SAMPLE: Final = "open a session for a user"
_OTHER_SAMPLE: Final = "the mean of some numbers"
_IMPORTS_S = 30.0  # what libraries may take to load, beside a request
_SHOWN = 40  # characters of a reply
_IN_THIS_PROCESS = ("embedded", "sentence-transformers", "model2vec", "cross-encoder")


def model_probes(setup: Setup) -> Iterator[Probe]:
    """Yield what is checked of the models; of those that are not configured, that they are not."""
    settings = setup.settings
    embedding, llm, reranker = settings.embedding, settings.llm, settings.reranker
    limit = setup.limit_s(embedding.timeout_s)
    yield from _probes(
        "embedding", embedding.provider, partial(_embedding, setup, limit), limit, embedding_server(setup)
    )
    if llm.provider == "none":
        yield Probe("llm.request", lambda: Finding("none is configured: answers are put together from the evidence"))
    else:
        limit = setup.limit_s(llm.timeout_s)
        yield from _probes("llm", llm.provider, partial(_language_model, setup, limit), limit, llm_server(setup))
    if reranker.provider == "none":
        yield Probe("reranker.request", lambda: Finding("none is configured: the ranking signals order the results"))
    else:
        limit = setup.limit_s(max(LOCAL_TIMEOUT_S, reranker.budget_ms / 1e3))
        yield from _probes("reranker", reranker.provider, partial(_reranker, setup), limit, reranker_server(setup))


def _probes(
    section: str, provider: str, request: Callable[[], Finding], limit_s: float, served: Served | None
) -> Iterator[Probe]:
    before: Sequence[Probe] = list(server_probes(section, served)) if served else ()
    yield from before
    yield Probe(
        f"{section}.request",
        request,
        connects=provider not in _IN_THIS_PROCESS,
        needs=[probe.name for probe in before],
        timeout_s=limit_s + _IMPORTS_S,
        overdue=ModelUnavailableError,
    )


def _embedding(setup: Setup, limit_s: float) -> Finding:
    """Embed a question, and compare with the index."""
    model = make_dense_model(_within(setup.settings.embedding, limit_s))
    started = time.perf_counter()
    vector = model.embed_query(_SAMPLE, _SAMPLE.split())
    ms = _ms_since(started)
    info, pointer = model.info, None
    with suppress(StoreError):  # another check tells of it
        pointer = setup.store.read_pointer()
    there = pointer.embedding if pointer else None
    if there and (there.provider, there.model) == (info.provider, info.model):
        if there.dimension != vector.size:
            message = (
                f"{info.name} gives vectors of {vector.size} components, and those of the index have {there.dimension}"
            )
            raise IndexModelError(message, hint="Set embedding.dimension back, or run `coderag index` to switch.")
        return Finding(f"{info}, as in the index; a question took {ms}")
    return Finding(f"{info}; a question took {ms}")


def _language_model(setup: Setup, limit_s: float) -> Finding:
    """Have the model say a word."""
    import llama_index.core.base.llms.types  # noqa: F401, PLC0415  # takes seconds, which are not the model's

    model = make_language_model(_within(setup.settings.llm, limit_s))
    if model is None:
        raise ModelError("llm.provider is none")
    prompt = setup.prompts.load("check_model").render()
    started = time.perf_counter()
    reply = asyncio.run(model.complete(prompt))
    ms = _ms_since(started)
    text = " ".join(reply.text.split())
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return Finding(f'{model.name} replied "{shown}" in {ms}')


def _reranker(setup: Setup) -> Finding:
    """Have two texts put in order."""
    model = make_reranker(setup.settings.reranker, setup.prompts)
    if model is None:
        raise ModelError("reranker.provider is none")
    started = time.perf_counter()
    scored = model.rerank(_SAMPLE, [_SAMPLE, _OTHER_SAMPLE])
    ms = _ms_since(started)
    if scored.scores is None:
        hint = "Ask again: a model that is loaded by the first request is late once. Else raise reranker.budget_ms."
        return Finding(f"{model.name} scored nothing: {scored.note}", hint, "note")
    return Finding(f"{model.name} scored two texts in {ms}")


def _within(settings: Any, limit_s: float) -> Any:  # noqa: ANN401  # a section of the settings, and the same kind back
    return settings.model_copy(update={"timeout_s": limit_s})


def _ms_since(started: float) -> str:
    return f"{(time.perf_counter() - started) * 1e3:,.0f} ms"
