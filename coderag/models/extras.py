"""Checks for optional packages."""

import sys
from importlib.util import find_spec

from coderag.errors import ConfigurationError


def require_extra(module: str, extra: str, feature: str) -> None:
    """Check that a module of an optional extra is installed, without importing it.

    Args:
        module: Module such as ``llama_index.embeddings.openai_like``.
        extra: The extra of the distribution that installs it.
        feature: Feature that needs it, for the message: ``the provider 'openai'``.

    Raises:
        ConfigurationError: It is not installed; the hint shows the command.
    """
    if not _is_installed(module):
        message = f"{feature} needs an extra that is not installed: module {module} is missing"
        hint = f'Install the extra "{extra}" of coderag-engine; from a checkout: pip install ".[{extra}]"'
        raise ConfigurationError(message, hint=hint)


def _is_installed(module: str) -> bool:
    if module in sys.modules:
        return sys.modules[module] is not None
    parent = module.rpartition(".")[0]
    return (not parent or _is_installed(parent)) and find_spec(module) is not None
