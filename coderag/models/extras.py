"""Packages that only some settings need."""

import sys
from importlib.util import find_spec

from coderag.errors import ConfigurationError


def require_extra(module: str, extra: str, feature: str) -> None:
    """Make sure that a module of an optional extra is installed, without importing it.

    Args:
        module: Such as ``llama_index.embeddings.openai_like``.
        extra: The extra of the distribution that brings it.
        what: Needs it, for the message: ``the provider 'openai'``.

    Raises:
        ConfigurationError: It is not installed; the hint says how to.
    """
    if not _is_installed(module):
        message = f"{feature} is an extra that is not installed: there is no module {module}"
        hint = f'Install the extra "{extra}" of coderag-engine; from a checkout: pip install ".[{extra}]"'
        raise ConfigurationError(message, hint=hint)


def _is_installed(module: str) -> bool:
    if module in sys.modules:
        return sys.modules[module] is not None
    parent = module.rpartition(".")[0]
    return (not parent or _is_installed(parent)) and find_spec(module) is not None
