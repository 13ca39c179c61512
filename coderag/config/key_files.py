"""Files that hold one key each, which only their owner may read."""

from pathlib import Path
from typing import Final

from coderag.config.settings_file import is_readable_by_others
from coderag.errors import ConfigurationError

_MAX_KEY_FILE_BYTES: Final = 10_000  # the longest keys are tokens of a few thousand letters


def read_key_file(name: str, setting: str) -> str:
    """Read a file that holds a key in one line.

    Args:
        name: Absolute path of the file, or one that begins with ``~``.
        setting: Setting that names it, for messages.

    Raises:
        ConfigurationError: The file cannot be used or is readable by others, or the key has invalid characters.
    """
    lines = read_private_file(name, setting, _MAX_KEY_FILE_BYTES).strip().splitlines()
    if len(lines) != 1:
        problem = "is empty" if not lines else "holds more than a key"
        message = f"{setting} is {Path(name).expanduser()}, which {problem}"
        raise ConfigurationError(message, hint="Put the key into it, in one line.")
    return check_key(lines[0].strip(), f"{setting} is {Path(name).expanduser()}, which")


def read_private_file(name: str, setting: str, max_bytes: int) -> str:
    """Read a file that only its owner may read.

    Args:
        name: Absolute path of the file, or one that begins with ``~``.
        setting: Setting that names it, for messages.
        max_bytes: Largest size.

    Raises:
        ConfigurationError: The file cannot be used, is too large, or is readable by others.
    """
    path = Path(name).expanduser()
    if not path.is_absolute():
        hint = "Set its full path, which may begin with ~ or ${HOME}."
        raise ConfigurationError(f"{setting} is {name}, which is not an absolute path", hint=hint)
    try:
        if not path.is_file():
            raise ConfigurationError(f"{setting} is {path}, which is not a file", hint="Put the key into it.")
        if is_readable_by_others(path):
            raise ConfigurationError(
                f"{setting} is {path}, which other users can read", hint=f"Run `chmod 600 {path}`."
            )
        with path.open("rb") as stream:
            content = stream.read(max_bytes + 1)
    except OSError as error:
        raise ConfigurationError(f"{setting} is {path}, which cannot be read: {error.strerror}") from error
    if len(content) > max_bytes:
        message = f"{setting} is {path}, which holds more than a key"
        raise ConfigurationError(message, hint="Check that it is the right file.")
    return content.decode("utf-8-sig", "replace")


def check_key(key: str, source: str) -> str:
    """Return a key, unless it has characters that no header may have.

    Args:
        key: The key; may be empty.
        source: Setting or file that it is from, for messages.

    Raises:
        ConfigurationError: It has other characters than printable ASCII.
    """
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError(f"{source} has characters that are not allowed in a key", hint="Copy the key again.")
    return key
