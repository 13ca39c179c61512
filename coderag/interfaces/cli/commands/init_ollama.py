"""Detection of a running Ollama and choice of its models for ``coderag init``. Nothing is downloaded."""

import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Final, get_args

from coderag.errors import CodeRAGError, ConfigurationError
from coderag.interfaces.cli.output.streams import escape_controls

DETECTION_TIMEOUT_S: Final = 0.5
"""Total timeout in seconds of the detection, short for machines without Ollama."""

_HOST_VARIABLE = "OLLAMA_HOST"
_PORT = 11434
_LATEST_TAG = ":latest"  # tag of names without one


@dataclass(frozen=True, slots=True)
class OllamaModels:
    """Models listed by a running Ollama.

    Attributes:
        answers: Models that generate text.
        embedding: Embedding models.
    """

    address: str
    answers: Sequence[str] = field(default_factory=list)
    embedding: Sequence[str] = field(default_factory=list)


def detect_models(address: str) -> OllamaModels | None:
    """Return the models of a running Ollama; None if it does not respond in time."""
    _import_client()
    results: list[OllamaModels] = []
    thread = Thread(target=lambda: results.extend(_query_models(address)), name="init-ollama", daemon=True)
    thread.start()
    thread.join(DETECTION_TIMEOUT_S)
    return results[0] if results else None


def find_ollama_address(root: Path) -> str:
    """Return the address of Ollama from the settings, ``OLLAMA_HOST``, or the default."""
    from coderag.config.environment import read_environment_key
    from coderag.config.server_addresses import DEFAULT_ADDRESSES

    return (
        _find_configured_address(root)
        or _parse_host(read_environment_key(_HOST_VARIABLE))
        or DEFAULT_ADDRESSES["ollama"]
    )


def choose_models(models: OllamaModels, preset_sections: Collection[str]) -> dict[str, str]:
    """Ask the user which models to use; return ``ollama/<model>`` by section.

    Args:
        models: The available models.
        preset_sections: Sections that are already chosen.
    """
    questions = (
        ("llm", "Which model should write answers?", models.answers, "none"),
        ("embedding", "Which model should embed code?", models.embedding, "CodeRAG's own"),
    )
    open_questions = [question for question in questions if question[0] not in preset_sections and question[2]]
    if open_questions:
        _print_line(f"Ollama is running at {models.address}.")
    choices = {section: _ask_choice(text, names, default) for section, text, names, default in open_questions}
    return {section: f"ollama/{model}" for section, model in choices.items() if model}


def list_missing_models(chosen: Mapping[str, Mapping[str, str]], available: OllamaModels) -> list[str]:
    """Return the chosen Ollama models that are not available."""
    from coderag.models.llms.model_listing import is_listed

    names = [*available.answers, *available.embedding]
    models = (values.get("model", "") for values in chosen.values() if values["provider"] == "ollama")
    return [model for model in models if model and not is_listed(model, names)]


def format_advice(models: OllamaModels) -> str:
    """Format the detected models with the command that uses them, for non-interactive use."""
    kinds = {"answers": models.answers, "embedding": models.embedding}
    listing = "; ".join(f"for {use}: {', '.join(names)}" for use, names in kinds.items() if names)
    options = {"--llm": models.answers, "--embedding": models.embedding}
    arguments = " ".join(f"{option} ollama/{names[0]}" for option, names in options.items() if names)
    return f"Ollama at {models.address} has models {listing}.\nTo use them: coderag init --force {arguments}"


def build_sections(chosen: Mapping[str, str], address: str) -> dict[str, dict[str, str]]:
    """Build the settings of models chosen as ``provider/model``, by section.

    Args:
        chosen: Model by section.
        address: Address of Ollama; empty for the default.

    Raises:
        ConfigurationError: The provider does not exist.
    """
    sections = {}
    for section, text in chosen.items():
        provider, _, model = text.partition("/")
        _check_provider(section, provider)
        values = {"provider": provider, "model": model}
        if provider == "ollama" and address and not _is_default(address):
            values["base_url"] = address
        sections[section] = {key: value for key, value in values.items() if value}
    return sections


def _is_default(address: str) -> bool:
    from coderag.config.server_addresses import DEFAULT_ADDRESSES

    return address == DEFAULT_ADDRESSES["ollama"]


def _check_provider(section: str, provider: str) -> None:
    from coderag.config.settings import Settings

    model = Settings.model_fields[section].annotation
    allowed = get_args(model.model_fields["provider"].annotation) if model is not None else ()
    if provider not in allowed:
        message = f"--{section}: unknown provider {provider!r}"
        raise ConfigurationError(message, hint=f"Write it as PROVIDER/MODEL; the providers are {', '.join(allowed)}.")


def _find_configured_address(root: Path) -> str:
    """Return the Ollama address in the settings; empty if there is none or they are unreadable."""
    from coderag.config.server_addresses import parse_server_address
    from coderag.config.settings import Settings
    from coderag.config.trust import is_trusted

    try:
        settings = Settings.load(root, trusted=is_trusted(root))
        sections = (settings.llm, settings.embedding)
        addresses = (section.base_url for section in sections if section.provider == "ollama" and section.base_url)
        return next((parse_server_address(address, "base_url") for address in addresses), "")
    except CodeRAGError:
        return ""


def _parse_host(host: str) -> str:
    """Parse ``OLLAMA_HOST``, which may lack scheme and port, or be a listening address such as 0.0.0.0.

    Source: https://github.com/ollama/ollama/blob/main/envconfig/config.go
    """
    from urllib.parse import urlsplit

    if not host:
        return ""
    scheme, _, rest = host.rpartition("://")
    try:
        parts = urlsplit(f"{scheme or 'http'}://{rest}")
        port = parts.port or {"http": 80, "https": 443}.get(scheme, _PORT)
    except ValueError:
        return ""
    name = parts.hostname or "localhost"
    if name in ("0.0.0.0", "::"):  # noqa: S104  # listening addresses, to which clients cannot connect
        name = "localhost"
    return f"{scheme or 'http'}://{f'[{name}]' if ':' in name else name}:{port}"


def _import_client() -> None:
    """Import the client before the timeout starts."""
    import httpx  # noqa: F401

    import coderag.models.llms.model_listing
    import coderag.models.ollama_models  # noqa: F401


def _query_models(address: str) -> Iterator[OllamaModels]:
    """Yield the models; nothing if the request fails."""
    from coderag.models.llms.model_listing import list_server_models
    from coderag.models.ollama_models import describe_models
    from coderag.models.remote_errors import Remote

    remote = Remote("ollama", "any", address, "llm", DETECTION_TIMEOUT_S)
    started = time.monotonic()
    with suppress(CodeRAGError):
        names = [name.removesuffix(_LATEST_TAG) for name in list_server_models(remote)]
        remaining_s = DETECTION_TIMEOUT_S / 2 - (time.monotonic() - started)
        models = describe_models(remote, names, remaining_s)
        by_use = {use: [model.name for model in models if model.use == use] for use in ("answers", "embedding")}
        yield OllamaModels(address, **by_use)


def _ask_choice(question: str, names: Sequence[str], default: str) -> str:
    """Return the model chosen by number or name; empty if none is."""
    if not names:
        return ""
    _print_line(f"\n{question}")
    for number, name in enumerate(names, 1):
        _print_line(f"  {number}  {name}")
    while True:
        sys.stderr.write(f"Number, or Enter for {default}: ")
        sys.stderr.flush()
        reply = sys.stdin.readline().strip()
        if not reply:
            return ""
        if reply in names:
            return reply
        if reply.isdecimal() and 1 <= int(reply) <= len(names):
            return names[int(reply) - 1]
        _print_line(f"{reply!r} is not in the list.")


def _print_line(text: str) -> None:
    sys.stderr.write(escape_controls(text) + "\n")
