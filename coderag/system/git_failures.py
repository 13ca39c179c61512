"""Errors of git commands by the messages that git prints."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from coderag.errors import GitFetchError, GitUnavailableError

_MAX_REASON_CHARS: Final = 300
_NETWORK_COMMANDS: Final = frozenset({"fetch", "ls-remote"})


@dataclass(frozen=True, slots=True)
class _Cause:
    pattern: re.Pattern[str]
    message: str
    hint: str


def _define(pattern: str, message: str, hint: str) -> _Cause:
    return _Cause(re.compile(pattern, re.IGNORECASE), message, hint)


_CAUSES: Final = (
    _define(
        r"host key verification failed|host identification has changed",
        "the host key of the git server is not the one that was learnt before",
        "If the change is right, remove its line from known_hosts in the folder of the repositories.",
    ),
    _define(
        r"returned error: 30\d",
        "the git server redirects to another address, which is not followed",
        "Change the URL to the address that it redirects to.",
    ),
    _define(
        r"authentication failed|could not read (user|pass)|permission denied \(|returned error: 40[13]|access denied",
        "the git server refuses the credential, or needs one",
        "Check that the credential is valid and may read the repository.",
    ),
    _define(
        r"returned error: 404|repository .*not found|does not appear to be a git repository|not valid: is this a git",
        "the git server has no such repository, or hides it from this credential",
        "Check the URL, and that the credential may read the repository.",
    ),
    _define(
        r"couldn't find remote ref|remote branch .* not found",
        "the repository has no such branch",
        "Check the branch.",
    ),
    _define(
        r"certificate|SSL",
        "the TLS certificate of the git server cannot be verified",
        "Set SSL_CERT_FILE of the server to the certificates of your organisation.",
    ),
    _define(r"invalid path", "the repository has a path that cannot be checked out", "Rename the path."),
)


def translate_failure(arguments: Sequence[str], messages: str) -> GitFetchError:
    """Convert the messages of a git command that failed to an error; it may succeed later unless the cause is known."""
    for cause in _CAUSES:
        if cause.pattern.search(messages):
            return GitFetchError(cause.message, hint=cause.hint)
    command = next((word for word in arguments if not word.startswith("-")), "")
    reason = extract_reason(messages)
    if command in _NETWORK_COMMANDS:
        hint = "Check that this server can reach the git server."
        return GitUnavailableError(f"the git server cannot be reached: {reason}", hint=hint)
    return GitUnavailableError(f"git {command} failed: {reason}")


def extract_reason(messages: str) -> str:
    """Return the last line that git calls fatal or an error, or the last line; printable and short."""
    lines = [line.strip() for line in re.split(r"[\r\n]", messages) if line.strip()]
    chosen = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines
    reason = "".join(character for character in (chosen or ["no message"])[-1] if character.isprintable())
    return re.sub(r"^(fatal|error): ", "", reason)[:_MAX_REASON_CHARS]
