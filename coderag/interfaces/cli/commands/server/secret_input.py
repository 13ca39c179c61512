"""Secrets from a prompt, standard input or a file; never from arguments, which other users can see."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from coderag.errors import ConfigurationError, InvalidQueryError

SecretStdinOption = Annotated[bool, typer.Option("--secret-stdin", help="Read the secret from standard input.")]
SecretFileOption = Annotated[
    Path | None,
    typer.Option("--secret-file", metavar="FILE", help="Read the secret from this file.", show_default=False),
]


def read_secret(title: str, *, from_stdin: bool, file: Path | None, is_repeated: bool = False) -> str:
    """Read a secret.

    Args:
        title: Name of the secret, for the prompt.
        from_stdin: Whether to read standard input.
        file: File to read; None for none.
        is_repeated: Whether a prompt asks twice.

    Raises:
        ConfigurationError: The file cannot be read.
        InvalidQueryError: No way to read it was given and there is no terminal, or it is empty.
    """
    if from_stdin and file is not None:
        raise InvalidQueryError("give the secret once: with --secret-stdin or with --secret-file")
    if file is not None:
        try:
            secret = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{file}: cannot be read: {error}", hint="Check --secret-file.") from error
    elif from_stdin:
        secret = sys.stdin.read()
    else:
        secret = _prompt(title, is_repeated=is_repeated)
    if not secret.strip():
        raise InvalidQueryError(f"the {title} is empty")
    return secret.strip("\r\n")


def _prompt(title: str, *, is_repeated: bool) -> str:
    from coderag.interfaces.cli.confirmation import can_prompt

    if not can_prompt():
        hint = "Give it with --secret-stdin or --secret-file."
        raise InvalidQueryError(f"cannot prompt for the {title}: stdin is not a terminal", hint=hint)
    try:
        return str(typer.prompt(title.capitalize(), hide_input=True, confirmation_prompt=is_repeated, err=True))
    except typer.Abort as error:
        raise InvalidQueryError(f"no {title} was given") from error
