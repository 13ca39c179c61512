"""API keys of model servers: from the settings, a key file, or the provider's environment variable.

The variable is used only for the provider's own address: a repository's settings may set another address, and its author
must not receive the user's key.
"""

from typing import Final

from pydantic import SecretStr

from coderag.config.environment import read_environment_key
from coderag.config.key_files import check_key, read_key_file
from coderag.config.sections import EmbeddingSettings, LLMSettings
from coderag.config.server_addresses import DEFAULT_ADDRESSES, is_same_server, parse_server_address
from coderag.errors import ModelAuthenticationError
from coderag.models.remote_errors import Remote

KEY_VARIABLES: Final[dict[str, tuple[str, ...]]] = {
    "ollama": (),
    "openai": ("OPENAI_API_KEY",),
    "voyage": ("VOYAGE_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
"""Environment variables of each provider's key; the first that is set counts."""


def resolve_remote(section: str, settings: EmbeddingSettings | LLMSettings, model: str) -> Remote:
    """Resolve the server of a settings section, with its key. Key files are read each time, as keys may change.

    Raises:
        ConfigurationError: The address or the key cannot be used.
        ModelAuthenticationError: The address is the provider's own, and there is no key.
    """
    own_address, variables = DEFAULT_ADDRESSES[settings.provider], KEY_VARIABLES[settings.provider]
    address = parse_server_address(settings.base_url.strip() or own_address, f"{section}.base_url")
    key = read_key(section, settings.api_key, settings.api_key_file, address, own_address, *variables)
    remote = Remote(settings.provider, model, address, section, settings.timeout_s, key)
    if variables and not key and is_same_server(address, own_address):
        raise _build_missing_key_error(remote, *variables)
    return remote


def read_key(section: str, key: SecretStr, file: str, address: str, default_address: str, *variables: str) -> str:
    """Return the key for a server; empty if there is none.

    Args:
        section: Section of the settings, ``embedding`` or ``llm``.
        key: The setting ``api_key``.
        file: The setting ``api_key_file``.
        address: Address of the server.
        default_address: The provider's own address.
        variables: Environment variables of the key; the first that is set counts.

    Raises:
        ConfigurationError: The key file cannot be used or is readable by others, or the key has invalid characters.
    """
    if configured := key.get_secret_value().strip():
        return check_key(configured, f"{section}.api_key")
    if file.strip():
        return read_key_file(file.strip(), f"{section}.api_key_file")
    if is_same_server(address, default_address):
        return check_key(read_environment_key(*variables), " or ".join(variables))
    return ""


def _build_missing_key_error(remote: Remote, *variables: str) -> ModelAuthenticationError:
    section = remote.section
    message = f"{remote.provider} at {remote.address} needs a key, and {section}.api_key is not set"
    hint = (
        f"Set the environment variable {' or '.join(variables)}, name a file that holds the key in"
        f" {section}.api_key_file, or set {section}.api_key, for example to ${{{variables[0]}}}."
    )
    return ModelAuthenticationError(message, hint=hint)
