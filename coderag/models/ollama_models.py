"""Descriptions of an Ollama server's models: use and context length. Nothing is downloaded or loaded.

Source: https://github.com/ollama/ollama/blob/main/docs/api.md
"""

import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from coderag.errors import ModelError
from coderag.models.providers import build_ollama_options
from coderag.models.remote_errors import Remote, translate_remote_errors

if TYPE_CHECKING:
    import httpx

ModelUse = Literal["answers", "embedding"]

_EMBEDDING_NAMES = re.compile(
    r"embed|\ball-minilm\b|\bbge-|\bgte-|\be5-|\bparaphrase-multilingual\b|snowflake-arctic", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class OllamaModel:
    """A model of the server.

    Attributes:
        use: Purpose of the model.
        context_length: Maximum number of tokens that it reads; None if unknown.
    """

    name: str
    use: ModelUse
    context_length: int | None = None


def describe_model(remote: Remote) -> OllamaModel:
    """Request the description of the model that `remote` names.

    Raises:
        ModelError: The server cannot be reached or has no such model, or its reply is invalid.
    """
    with translate_remote_errors(remote), _open_client(remote) as client:
        return _request_description(client, remote.model)


def describe_models(remote: Remote, names: Sequence[str], timeout_s: float) -> list[OllamaModel]:
    """Request the descriptions of some models; without a reply in time, guess by name.

    Args:
        remote: The server.
        names: Names of the models.
        timeout_s: Seconds for all requests together.
    """
    deadline = time.monotonic() + timeout_s
    models = []
    with _open_client(remote) as client:
        for name in names:
            model = OllamaModel(name, guess_use(name))
            if (remaining_s := deadline - time.monotonic()) > 0:
                with suppress(ModelError), translate_remote_errors(remote):
                    model = _request_description(client, name, remaining_s)
            models.append(model)
    return models


def guess_use(name: str) -> ModelUse:
    """Guess a model's purpose by its name."""
    return "embedding" if _EMBEDDING_NAMES.search(name) else "answers"


def _open_client(remote: Remote) -> "httpx.Client":
    import httpx  # noqa: PLC0415  # 0.2 s

    return httpx.Client(
        base_url=remote.address, **build_ollama_options(remote.address, remote.timeout_s, remote.secret)
    )


def _request_description(client: "httpx.Client", name: str, timeout_s: float | None = None) -> OllamaModel:
    timeout = client.timeout if timeout_s is None else timeout_s
    reply = client.post("/api/show", json={"model": name}, timeout=timeout).raise_for_status().json()
    capabilities = reply.get("capabilities")  # missing on older servers
    use = guess_use(name)
    if capabilities:
        use = "answers" if "completion" in capabilities else "embedding"
    lengths = [value for key, value in (reply.get("model_info") or {}).items() if key.endswith(".context_length")]
    return OllamaModel(name, use, int(lengths[0]) if lengths else None)
