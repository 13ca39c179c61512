"""Reading of a file as text in any encoding, up to a limit.

Binary files, minified files and
generated files other than code become a `SkippedFile`, all others a `FileText`. ``.gitattributes`` may say which it is.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from coderag.ingestion.files.git_attributes import NO_ATTRIBUTES, FileAttributes
from coderag.ingestion.files.regular_files import describe_os_error, read_regular_file
from coderag.ingestion.files.roles import classify_role
from coderag.ingestion.files.skip_reasons import GENERATED_REASON, find_skip_reason
from coderag.schema.vocabulary import Outcome, Role
from coderag.text.encodings import decode
from coderag.text.readable_text import to_readable_text
from coderag.text.secret_values import REMOVED_VALUE

if TYPE_CHECKING:  # the scanner imports this module
    from coderag.ingestion.files.candidates import FileCandidate

MAX_FILE_BYTES = 1_000_000
"""Default size limit of a file. Larger files are usually data rather than code."""

SECRETS_NOTE: Final = "holds secrets: indexed without values"
_NON_CODE_ROLES: frozenset[Role] = frozenset({"docs", "config"})
"""Generated documents repeat their sources and generated lists are data, but generated code is called by other code."""
_OVERRIDING_ROLES: frozenset[Role] = frozenset({"test", "vendored"})
"""Roles that take precedence over ``generated``."""


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file.

    Attributes:
        text: Text without byte order mark; line endings as on disk. Byte offsets refer to its UTF-8. For a notebook or a
            file of secrets, see `coderag.text.readable_text`.
        encoding: Name of a Python codec; ``utf-8+cp1252`` if some lines of a UTF-8 file are in another encoding.
        hash: SHA-256 of the bytes on disk.
        role: Role by ``.gitattributes``, by path, or ``generated`` if the first lines say so.
        mtime_ns: Modification time before reading, so that the next run detects a change during reading.
        note: Remark on what the text lacks; empty if it is complete.
    """

    text: str
    encoding: str
    hash: str
    role: Role
    size: int
    mtime_ns: int
    note: str = ""


class SkippedFile(NamedTuple):
    """A file without text and the reason; ``hash`` is empty if it could not be read to its end."""

    outcome: Outcome
    reason: str
    hash: str = ""
    size: int = 0
    mtime_ns: int = 0


def read_file_text(
    root: Path,
    candidate: "FileCandidate",
    *,
    max_file_bytes: int = MAX_FILE_BYTES,
    include_generated: bool = True,
    attributes: FileAttributes = NO_ATTRIBUTES,
) -> FileText | SkippedFile:
    """Read and decode a candidate, or return why not. An error is a `SkippedFile` with outcome ``failed``, not raised.

    Args:
        root: Folder of the repository.
        candidate: The file.
        max_file_bytes: Larger files are skipped.
        include_generated: Whether generated code is read; generated lists and documents never are.
        attributes: Attributes that the repository gives to the file.
    """
    try:
        data, status = read_regular_file(root / candidate.path, max_file_bytes)
    except OSError as error:
        return SkippedFile("failed", describe_os_error(error), size=candidate.size, mtime_ns=candidate.mtime_ns)
    if len(data) > max_file_bytes:
        return SkippedFile("skipped", explain_size_limit(max_file_bytes), "", status.st_size, status.st_mtime_ns)
    digest = hashlib.sha256(data).hexdigest()
    decoded = decode(data, attributes.encoding)
    if decoded is None:
        return SkippedFile("skipped", "binary file", digest, len(data), status.st_mtime_ns)
    text = to_readable_text(candidate.path, decoded.text)
    path_role = classify_role(candidate.path)
    role, reason = attributes.determine_role(candidate.path), find_skip_reason(candidate.path, text)
    if attributes.is_generated is not None and reason in ("", GENERATED_REASON):
        reason = GENERATED_REASON if attributes.is_generated else ""
    if reason == GENERATED_REASON and include_generated and path_role not in _NON_CODE_ROLES:
        role, reason = role if role in _OVERRIDING_ROLES else "generated", ""
    if reason:
        return SkippedFile("skipped", reason, digest, len(data), status.st_mtime_ns)
    note = SECRETS_NOTE if REMOVED_VALUE in text and REMOVED_VALUE not in decoded.text else ""
    return FileText(text, decoded.encoding, digest, role, len(data), status.st_mtime_ns, note)


def explain_size_limit(max_file_bytes: int) -> str:
    """Return the reason for skipping a file over the limit; it is constant, so that reports can count it."""
    return f"larger than {max_file_bytes:,} bytes"
