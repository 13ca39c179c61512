"""The servers of language models: which one the settings name, and how a client is to connect to it."""

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
    """Return the name of the model that the settings name.

    Raises:
        ConfigurationError: They name none, and the provider has no default.
    """
    model = settings.model.strip() or (OLLAMA_MODEL if settings.provider == "ollama" else "")
    if not model:
        message = f"llm.model is not set, and the provider '{settings.provider}' has no default"
        raise ConfigurationError(message, hint=f"Set it, for example to {_EXAMPLES[settings.provider]}.")
    return model


def get_address(settings: LLMSettings) -> str:
    """Return the address of the server that the settings name, checked.

    Raises:
        ConfigurationError: It is none.
    """
    return parse_server_address(settings.base_url.strip() or DEFAULT_ADDRESSES[settings.provider], "llm.base_url")


def resolve_llm_remote(settings: LLMSettings, model: str) -> Remote:
    """Return the server that the settings name, with its key. Raises as `resolve_remote`."""
    return resolve_remote("llm", settings, model)


def get_explicit_temperature(settings: LLMSettings) -> dict[str, float]:
    """Return the temperature if the settings set it, for providers whose newer models refuse one or suffer from it.

    Source: https://ai.google.dev/gemini-api/docs/gemini-3, https://docs.anthropic.com/en/about-claude/model-deprecations
    """
    return {"temperature": settings.temperature} if "temperature" in settings.model_fields_set else {}


def build_key_headers(remote: Remote) -> dict[str, str]:
    """Return the header that carries the key, if there is one."""
    if not remote.secret:
        return {}
    name = _KEY_HEADERS.get(remote.provider, "authorization")
    return {name: f"Bearer {remote.secret}" if name == "authorization" else remote.secret}


def build_client_options(remote: Remote) -> dict[str, Any]:
    """Return how an HTTP client (httpx's, or that of its fork httpx2) is to connect.

    The providers' libraries add what they find in the environment: organisations, tokens, headers. Those are for the
    provider's own address, so that another one gets what a request needs and nothing else. What goes to this machine
    goes there directly, not through a proxy; and no server can send a request on to another one, with its key.
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
        # Anthropic's own client takes proxies from the environment whatever `trust_env` says, but no mount's place.
        return {**options, "trust_env": False, "mounts": {f"all://{host}": None}}
    return options


@cache
def load_certificates() -> "ssl.SSLContext":
    """Return what checks servers' certificates: reading it takes tens of milliseconds, and each request has a client."""
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
