"""Servers of language models: model name, address, key and client options."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from coderag.config.sections import LLMSettings
from coderag.config.server_addresses import DEFAULT_ADDRESSES, is_same_server, is_this_machine, parse_server_address
from coderag.errors import ConfigurationError
from coderag.models.keys import resolve_remote
from coderag.models.remote_errors import Remote

if TYPE_CHECKING:
    import ssl

    import httpx

OLLAMA_MODEL: Final = "qwen2.5-coder"

_KEY_HEADERS = {"openai": "authorization", "anthropic": "x-api-key", "gemini": "x-goog-api-key"}
_EXAMPLES = {"openai": "gpt-5.4-mini", "anthropic": "claude-sonnet-5", "gemini": "gemini-3.7-flash"}

_NEEDED_HEADERS = frozenset(
    {
        "host", "accept", "accept-encoding", "connection", "content-length", "content-type", "transfer-encoding",
        "user-agent", "anthropic-version",
    }
)  # fmt: skip


def get_model_name(settings: LLMSettings) -> str:
    """Return the model name of the settings.

    Raises:
        ConfigurationError: The settings have no model, and the provider has no default.
    """
    model = settings.model.strip() or (OLLAMA_MODEL if settings.provider == "ollama" else "")
    if not model:
        message = f"llm.model is not set, but the provider '{settings.provider}' has no default"
        raise ConfigurationError(message, hint=f"Set it, for example to {_EXAMPLES[settings.provider]}.")
    return model


def get_address(settings: LLMSettings) -> str:
    """Return the validated server address of the settings.

    Raises:
        ConfigurationError: The address is invalid.
    """
    return parse_server_address(settings.base_url.strip() or DEFAULT_ADDRESSES[settings.provider], "llm.base_url")


def resolve_llm_remote(settings: LLMSettings, model: str) -> Remote:
    """Resolve the server of the settings, with its key. Raises as `resolve_remote`."""
    return resolve_remote("llm", settings, model)


def get_explicit_temperature(settings: LLMSettings) -> dict[str, float]:
    """Return the temperature if the settings set it; some newer models reject one or perform worse with it.

    Source: https://ai.google.dev/gemini-api/docs/gemini-3, https://docs.anthropic.com/en/about-claude/model-deprecations
    """
    return {"temperature": settings.temperature} if "temperature" in settings.model_fields_set else {}


def build_key_headers(remote: Remote) -> dict[str, str]:
    """Build the header with the key, if there is one."""
    if not remote.secret:
        return {}
    name = _KEY_HEADERS.get(remote.provider, "authorization")
    return {name: f"Bearer {remote.secret}" if name == "authorization" else remote.secret}


def build_client_options(remote: Remote) -> dict[str, Any]:
    """Build the options of an HTTP client (httpx, or its fork httpx2).

    The providers' libraries add values of the environment: organizations, tokens, headers. They are sent only to the
    provider's own address; other servers get only the needed headers. Requests to this machine bypass proxies. Redirects
    are not followed, as they would forward the key.
    """
    options = {
        "timeout": remote.timeout_s,
        "auth": _build_auth(remote),
        "follow_redirects": False,
        "verify": load_certificates(),
    }
    if is_this_machine(remote.address):
        host = urlsplit(remote.address).hostname or ""
        host = f"[{host}]" if ":" in host else host
        # Anthropic's client reads proxies from the environment despite `trust_env`, but mounts take precedence.
        return {**options, "trust_env": False, "mounts": {f"all://{host}": None}}
    return options


@cache
def load_certificates() -> "ssl.SSLContext":
    """Load the TLS context once: it takes tens of milliseconds, and each request creates a client."""
    import httpx  # noqa: PLC0415  # 0.2 s that help and status need not spend

    return httpx.create_ssl_context()


def _build_auth(remote: Remote) -> "Callable[[httpx.Request], httpx.Request]":
    is_own_server = is_same_server(remote.address, DEFAULT_ADDRESSES[remote.provider])

    def authorize(request: "httpx.Request") -> "httpx.Request":
        for name in [] if is_own_server else [name for name in request.headers if name.lower() not in _NEEDED_HEADERS]:
            del request.headers[name]
        request.headers.update(build_key_headers(remote))
        return request

    return authorize
