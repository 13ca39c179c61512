"""Checks of names and branches that users give."""

import re
from typing import Final

from coderag.errors import InvalidValueError
from coderag.server.storage.columns import ID_CHARS

MAX_NAME_CHARS: Final = 100
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_HEX_ID: Final = re.compile(rf"[0-9a-f]{{{ID_CHARS}}}")
_BRANCH: Final = re.compile(r"[^\x00-\x20\x7f~^:?*\[\\]{1,200}")


def is_id(text: str) -> bool:
    """Return whether a text can be an id. Others are not looked up: a database may fail on them."""
    return _HEX_ID.fullmatch(text) is not None


def check_name(name: str) -> str:
    """Return a name of a repository or a credential.

    Raises:
        InvalidValueError: It is empty, too long, has other characters, or looks like an id.
    """
    if len(name) > MAX_NAME_CHARS or not _NAME.fullmatch(name) or is_id(name):
        hint = f"Use up to {MAX_NAME_CHARS} letters, digits, '.', '_', '-', with single '/' between words."
        raise InvalidValueError(f"the name {name[:MAX_NAME_CHARS]!r} is invalid", hint=hint)
    return name


def check_branch(branch: str) -> str:
    """Return the name of a branch; empty stands for the default branch.

    Raises:
        InvalidValueError: No branch can have this name.
    """
    if not branch:
        return branch
    parts = branch.split("/")
    is_valid = (
        _BRANCH.fullmatch(branch)
        and ".." not in branch
        and "@{" not in branch
        and branch not in ("@", "HEAD")
        and not branch.startswith("-")
        and not branch.endswith(".")
        and all(part and not part.startswith(".") and not part.endswith(".lock") for part in parts)
    )
    if not is_valid:
        raise InvalidValueError(f"no branch can have the name {branch[:MAX_NAME_CHARS]!r}", hint="Leave refs/ out.")
    return branch
