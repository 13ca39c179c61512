"""Listing of a server's models, with a plain request that needs no extra."""

from typing import Any
from urllib.parse import quote

from coderag.config.sections import LLMSettings
from coderag.models.llms.servers import build_client_options, build_key_headers, resolve_llm_remote
from coderag.models.remote_errors import Remote, translate_remote_errors

_PATHS = {
    "ollama": "/api/tags",
    "openai": "/models",
    "anthropic": "/v1/models?limit=1000",
    "gemini": "/v1beta/models?pageSize=1000",
}
_ANTHROPIC_VERSION = "2023-06-01"  # Source: https://docs.anthropic.com/en/api/versioning
_MAX_PAGES = 20


def list_models(settings: LLMSettings, *, timeout_s: float) -> list[str]:
    """Request the names of the models of the configured server.

    Sends one request per page, without retries. The caller sets the timeout, because a listing is fast even on a server
    with slow models.

    Args:
        settings: The section ``llm``; ``model`` is not needed.
        timeout_s: Seconds to wait for the server.

    Raises:
        ConfigurationError: The address or the key cannot be used.
        ModelError: The server cannot be reached, rejects the request, or sends an invalid reply.
    """
    if settings.provider == "none":
        return []
    return list_server_models(
        resolve_llm_remote(settings.model_copy(update={"timeout_s": timeout_s}), settings.model or "any")
    )


def list_server_models(remote: Remote) -> list[str]:
    """Request the names of a server's models; embedding servers work, too. Raises `ModelError` as `list_models`."""
    with translate_remote_errors(remote):
        return _fetch_all_pages(remote)


def is_listed(model: str, listed: list[str]) -> bool:
    """Return whether a configured model is in `list_models`; Ollama's names may omit the tag ``latest``."""
    return model in listed or f"{model}:latest" in listed


def _fetch_all_pages(remote: Remote) -> list[str]:
    import httpx  # noqa: PLC0415  # 0.2 s

    headers = {**build_key_headers(remote)}
    if remote.provider == "anthropic":
        headers["anthropic-version"] = _ANTHROPIC_VERSION
    names: list[str] = []
    with httpx.Client(headers=headers, **build_client_options(remote)) as client:
        next_page = ""
        for _ in range(_MAX_PAGES):
            page = client.get(f"{remote.address}{_PATHS[remote.provider]}{next_page}").raise_for_status().json()
            names += _parse_names(remote.provider, page)
            if not (next_page := _parse_next_page(remote.provider, page)):
                break
    return names


def _parse_names(provider: str, page: Any) -> list[str]:  # noqa: ANN401  # the reply's JSON
    match provider:
        case "ollama":
            return [str(model["name"]) for model in page["models"]]
        case "gemini":
            return [
                str(model["name"]).removeprefix("models/")
                for model in page["models"]
                if "generateContent" in model.get("supportedGenerationMethods", ["generateContent"])
            ]
        case _:
            return [str(model["id"]) for model in page["data"]]


def _parse_next_page(provider: str, page: Any) -> str:  # noqa: ANN401  # as above
    if provider == "gemini" and page.get("nextPageToken"):
        return f"&pageToken={quote(str(page['nextPageToken']))}"
    if provider == "anthropic" and page.get("has_more"):
        return f"&after_id={quote(str(page['last_id']))}"
    return ""
