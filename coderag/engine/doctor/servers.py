"""Checks of model servers: reachability, model availability and context length."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

from coderag.config.server_addresses import parse_server_address
from coderag.engine.doctor.probes import Finding, Probe
from coderag.engine.doctor.setup import Setup
from coderag.errors import ConfigurationError, ModelUnavailableError
from coderag.models.llms.model_listing import is_listed, list_server_models
from coderag.models.llms.servers import OLLAMA_MODEL, get_model_name, resolve_llm_remote
from coderag.models.ollama_models import describe_model, guess_use
from coderag.models.providers import resolve_embedding_remote
from coderag.models.remote_errors import Remote

LISTING_TIMEOUT_S: Final = 10.0
"""Timeout in seconds of a model listing, which needs no computation."""

_MAX_NAMES_SHOWN = 5
_LISTING_PROVIDERS = ("ollama", "openai")


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model on a server that lists its models.

    Attributes:
        make_remote: Returns the server with its key, or raises the error of either.
        provider: As in the settings.
        embeds: Whether it is an embedding model; otherwise it generates text.
        context_window: Prompt tokens that the model must accept; 0 if it takes no prompts.
    """

    make_remote: Callable[[], Remote]
    provider: str
    embeds: bool = False
    context_window: int = 0


def find_embedding_server(setup: Setup) -> ServedModel | None:
    """Return the server of the embedding model, if that server lists its models."""
    settings = setup.settings.embedding
    if settings.provider not in _LISTING_PROVIDERS:
        return None
    limited = settings.model_copy(update={"timeout_s": setup.limit_s(LISTING_TIMEOUT_S)})
    return ServedModel(lambda: resolve_embedding_remote(limited), settings.provider, embeds=True)


def make_llm_server(setup: Setup) -> ServedModel:
    """Return the server of the language model."""
    settings = setup.settings.llm
    limited = settings.model_copy(update={"timeout_s": setup.limit_s(LISTING_TIMEOUT_S)})
    return ServedModel(
        lambda: resolve_llm_remote(limited, get_model_name(settings)),
        settings.provider,
        context_window=settings.context_window,
    )


def find_reranker_server(setup: Setup) -> ServedModel | None:
    """Return the server of the reranker, if it runs on one."""
    settings = setup.settings.reranker
    if settings.provider != "ollama":
        return None

    def make_remote() -> Remote:
        address = parse_server_address(settings.base_url, "reranker.base_url")
        limit = setup.limit_s(LISTING_TIMEOUT_S)
        return Remote("ollama", settings.model or OLLAMA_MODEL, address, "reranker", limit)

    return ServedModel(make_remote, settings.provider, context_window=settings.context_window)


def make_server_probes(section: str, served_model: ServedModel) -> Iterator[Probe]:
    """Yield the probes of a server that precede the first request to the model."""
    server, model = f"{section}.server", f"{section}.model"
    list_names = cache(
        lambda: list_server_models(served_model.make_remote())
    )  # one request; the second probe runs after the first
    limit = 2 * LISTING_TIMEOUT_S
    yield Probe(
        server,
        partial(_check_server, served_model, list_names),
        connects=True,
        timeout_s=limit,
        timeout_error=ModelUnavailableError,
    )
    yield Probe(
        model,
        partial(_check_model, served_model, list_names),
        connects=True,
        needs=[server],
        timeout_s=limit,
        timeout_error=ModelUnavailableError,
    )
    if served_model.provider == "ollama" and served_model.context_window:
        yield Probe(
            f"{section}.window",
            partial(_check_window, served_model),
            connects=True,
            needs=[server, model],
            timeout_s=limit,
            timeout_error=ModelUnavailableError,
        )


def _check_server(served_model: ServedModel, list_names: Callable[[], list[str]]) -> Finding:
    remote = served_model.make_remote()
    number = len(list_names())
    return Finding(f"{remote.provider} at {remote.address} answers; models: {number:,}")


def _check_model(served_model: ServedModel, list_names: Callable[[], list[str]]) -> Finding:
    remote, names = served_model.make_remote(), list_names()
    if is_listed(remote.model, names):
        return Finding(f"{remote.model} is there")
    alternatives = [name for name in names if (guess_use(name) == "embedding") == served_model.embeds]
    suggestion = f", which has {', '.join(alternatives[:_MAX_NAMES_SHOWN])}" if alternatives else ""
    message = f"{remote.provider} at {remote.address}{suggestion}, has no model {remote.model}"
    if remote.provider == "ollama":
        advice = f", or set {remote.section}.model to one that is there" if alternatives else ""
        raise ModelUnavailableError(message, hint=f"Fetch it with `ollama pull {remote.model}`{advice}.")
    # Some servers accept names that they do not list, such as dated ones.
    return Finding(message.replace("has no model", "does not list"), f"Check {remote.section}.model.", "note")


def _check_window(served_model: ServedModel) -> Finding:
    """Compare with the model's context length: Ollama silently truncates the beginning of longer prompts."""
    remote = served_model.make_remote()
    model = describe_model(remote)
    if model.use == "embedding":
        message = f"{remote.model} is an embedding model, according to ollama at {remote.address}"
        raise ConfigurationError(message, hint=f"Set {remote.section}.model to one that generates text.")
    if model.context_length is None:
        return Finding("the server does not report the context length of the model", status="note")
    if served_model.context_window > model.context_length:
        window, limit = served_model.context_window, model.context_length
        message = f"{remote.section}.context_window is {window:,}, but {remote.model} reads {limit:,} tokens"
        hint = f"Set {remote.section}.context_window to {model.context_length}: Ollama drops the beginning of longer prompts."
        raise ConfigurationError(message, hint=hint)
    return Finding(f"{served_model.context_window:,} of the {model.context_length:,} tokens that {remote.model} reads")
