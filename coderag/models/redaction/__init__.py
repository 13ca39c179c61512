"""Secrets are removed from what a model's server is sent: keys, tokens, private keys, passwords (docs/security.md).

Each is replaced by what it was, ``[secret removed: GitHub Token]``, and each line of a private key by that alone, so that
lines keep their numbers. Nothing is looked up anywhere: whether a key is valid is not asked.
"""

from coderag.models.redaction.redacting_model import RedactingModel
from coderag.models.redaction.redactor import RedactedText, Redactor, get_redactor

__all__ = ["RedactedText", "RedactingModel", "Redactor", "get_redactor"]
