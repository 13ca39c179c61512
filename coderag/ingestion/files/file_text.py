"""Safe reading of a file as text in any encoding.

A file is opened without following links or blocking on pipes, and read up to a limit. Binary files, minified files and
generated files other than code become a `SkippedFile`, all others a `FileText`. UTF-8 and byte order marks are tried first
and decide for almost every file; charset-normalizer detects the other encodings.
"""

import codecs
import errno
import hashlib
import os
import re
import stat
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from coderag.ingestion.files.roles import classify_role
from coderag.schema.vocabulary import Outcome, Role
from coderag.text.notebooks import to_readable_text

if TYPE_CHECKING:  # the scanner imports this module
    from coderag.ingestion.files.candidates import FileCandidate

MAX_FILE_BYTES = 1_000_000
"""Default size limit of a file. Larger files are usually data rather than code."""

_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)  # Windows: no newline translation
    | getattr(os, "O_NONBLOCK", 0)  # otherwise opening a pipe waits for a writer
)
_NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)

_SNIFFED_BYTES = 8_192  # git looks for a NUL this far
_SAMPLE_BYTES = 65_536  # charset-normalizer takes tens of milliseconds for more
_MAX_CONTROL_SHARE = 0.02  # share of control bytes above which bytes without a NUL are binary
_UTF16_HIGH_NULS = 0.4  # UTF-16 without a mark: about every other byte of Western code is NUL
_UTF16_LOW_NULS = 0.02
_CONTROL_BYTES = bytes(sorted(set(range(32)) - set(b"\t\n\v\f\r\x1b") | {0x7F}))

_BYTE_ORDER_MARKS = (  # the UTF-32 mark begins with the UTF-16 mark
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LEGACY_ENCODINGS = [
    "cp1252", "cp932", "euc_jp", "gb18030", "big5", "cp949", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254",
    "cp1255", "cp1256", "cp1257", "iso8859_2", "iso8859_15",
]  # fmt: skip
"""Encodings of source files, likeliest first. Comments are often too short for reliable detection;
without this list, the library finds mainframe and Macintosh code pages."""
_MAX_COMPARED_CHARS = 4_096

_HEADER_LINES = 20
_HEADER_BLOCK = re.compile(r"\A(?:\s|#![^\n]*+\n|<\?.*?\?>)*+(?:/\*.*?\*/|<!--.*?-->)", re.DOTALL)
_COMMENT_LINE = re.compile(r"^[ \t]*(?://|#|/?\*|--|;|%|<!--|\(\*|\{-|\"\"\"|''')(.*)$", re.MULTILINE)
_GENERATED_PHRASES = (
    r"\bauto(?:matically)?[-_ ]*generated\b|\b(?:code|file|is|was|been)\s+generated\b"
    r"|\bgenerated\s+(?:by|from|file|code|using|with)\b"
)
_GENERATED = re.compile(
    rf"""^\W*@generated\b
    | <auto-?generated\b
    | \b(?:file|code)\s+(?:is|was|has\s+been)\s+auto(?:matically)?[-_ ]*generated\b
    | (?:{_GENERATED_PHRASES})[\s\S]{{0,300}}\bdo\s+not\s+(?:edit|modify|change|alter)\b
    | \bdo\s+not\s+(?:edit|modify|change|alter)\b[\s\S]{{0,300}}(?:{_GENERATED_PHRASES})""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_GENERATED_REASON = "generated file"
_NON_CODE_ROLES: frozenset[Role] = frozenset({"docs", "config"})
"""Generated documents repeat their sources and generated lists are data, but generated code is called by other code."""
_OVERRIDING_ROLES: frozenset[Role] = frozenset({"test", "vendored"})
"""Roles that take precedence over ``generated``."""

_LONG_LINE_CHARS = 500
_ENDLESS_LINE_CHARS = 5_000
_MAX_MINIFIED_LINES = 5
_MIN_CODE_DENSITY = (
    0.03  # share of (){}; in a line: minified code has at least 0.1, base64 and tables of numbers almost none
)
_MINIFIED_SUFFIXES = (".js", ".mjs", ".cjs", ".css", ".html", ".htm", ".svg")
_PROSE_SUFFIXES = (".md", ".mdx", ".markdown", ".rst", ".adoc", ".txt", ".tex", ".org", ".ipynb")


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file.

    Attributes:
        text: Text without byte order mark; line endings as on disk. Byte offsets refer to its UTF-8. For a notebook, its
            cells (see `coderag.text.notebooks`).
        encoding: Name of a Python codec; ``utf-8+cp1252`` if some lines of a UTF-8 file are in another encoding.
        hash: SHA-256 of the bytes on disk.
        role: Role by path, or ``generated`` if the first lines say so.
        mtime_ns: Modification time before reading, so that the next run detects a change during reading.
    """

    text: str
    encoding: str
    hash: str
    role: Role
    size: int
    mtime_ns: int


class SkippedFile(NamedTuple):
    """A file without text and the reason; ``hash`` is empty if it could not be read to its end."""

    outcome: Outcome
    reason: str
    hash: str = ""
    size: int = 0
    mtime_ns: int = 0


class DecodedText(NamedTuple):
    """A text and the name of its encoding."""

    text: str
    encoding: str


def read_file_text(
    root: Path, candidate: "FileCandidate", *, max_file_bytes: int = MAX_FILE_BYTES, include_generated: bool = True
) -> FileText | SkippedFile:
    """Read and decode a candidate, or return why not. An error is a `SkippedFile` with outcome ``failed``, not raised.

    Args:
        root: Folder of the repository.
        candidate: The file.
        max_file_bytes: Larger files are skipped.
        include_generated: Whether generated code is read; generated lists and documents never are.
    """
    try:
        data, status = read_regular_file(root / candidate.path, max_file_bytes)
    except OSError as error:
        return SkippedFile("failed", describe_os_error(error), size=candidate.size, mtime_ns=candidate.mtime_ns)
    if len(data) > max_file_bytes:
        return SkippedFile("skipped", explain_size_limit(max_file_bytes), "", status.st_size, status.st_mtime_ns)
    digest = hashlib.sha256(data).hexdigest()
    decoded = decode(data)
    if decoded is None:
        return SkippedFile("skipped", "binary file", digest, len(data), status.st_mtime_ns)
    text = to_readable_text(candidate.path, decoded.text)
    role, reason = classify_role(candidate.path), find_skip_reason(candidate.path, text)
    if reason == _GENERATED_REASON and include_generated and role not in _NON_CODE_ROLES:
        role, reason = role if role in _OVERRIDING_ROLES else "generated", ""
    if reason:
        return SkippedFile("skipped", reason, digest, len(data), status.st_mtime_ns)
    return FileText(text, decoded.encoding, digest, role, len(data), status.st_mtime_ns)


def read_regular_file(path: Path, limit: int, *, follow: bool = False) -> tuple[bytes, os.stat_result]:
    """Read at most ``limit`` + 1 bytes of a regular file, and its status before reading.

    Raises:
        OSError: The file cannot be read, is not a regular file, or is a symbolic link and ``follow`` is False.
    """
    if not follow and not _NO_FOLLOW and path.is_symlink():  # Windows
        raise OSError(errno.ELOOP, "is a symbolic link", str(path))
    descriptor = os.open(path, _OPEN_FLAGS if follow else _OPEN_FLAGS | _NO_FOLLOW)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        data = file.read(min(status.st_size, limit) + 1)
        if status.st_size < len(data) <= limit:  # it has grown meanwhile
            data += file.read(limit + 1 - len(data))
    return data, status


def describe_os_error(error: OSError) -> str:
    """Describe an operating system error without its path: ``permission denied``."""
    return (error.strerror or str(error) or type(error).__name__).lower()


def explain_size_limit(max_file_bytes: int) -> str:
    """Return the reason for skipping a file over the limit; it is constant, so that reports can count it."""
    return f"larger than {max_file_bytes:,} bytes"


def decode(data: bytes) -> DecodedText | None:
    """Decode a file; return None if the bytes are not text. The text has no lone surrogates."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return DecodedText(data.decode(encoding, "replace"), encoding)
    if b"\0" in data[:_SNIFFED_BYTES]:
        return _decode_unmarked_utf16(data)
    try:
        return DecodedText(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return None if _compute_control_share(data[:_SNIFFED_BYTES]) > _MAX_CONTROL_SHARE else _decode_legacy(data)


def _decode_unmarked_utf16(data: bytes) -> DecodedText | None:
    """Decode UTF-16 without a mark: NULs in every other byte only, and no control characters in the result."""
    head = data[:_SNIFFED_BYTES]
    shares = [half.count(0) / max(len(half), 1) for half in (head[0::2], head[1::2])]
    if max(shares) < _UTF16_HIGH_NULS or min(shares) > _UTF16_LOW_NULS:
        return None
    encoding = "utf-16-be" if shares[0] > shares[1] else "utf-16-le"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if _compute_control_share(text[:_SNIFFED_BYTES].encode()) > 0 else DecodedText(text, encoding)


def _compute_control_share(data: bytes) -> float:
    return 1 - len(data.translate(None, _CONTROL_BYTES)) / max(len(data), 1)


def _decode_legacy(data: bytes) -> DecodedText:
    """Decode text that is not UTF-8: as a whole, or line by line if most non-ASCII lines are UTF-8."""
    lines = data.split(b"\n")
    foreign = [line for line in lines if not _is_utf8(line)]
    encoding = _detect_encoding(foreign)
    if 2 * len(foreign) > sum(not line.isascii() for line in lines):
        return DecodedText(_decode_as(data, encoding), encoding)
    texts = (line.decode("utf-8") if _is_utf8(line) else _decode_as(line, encoding) for line in lines)
    return DecodedText("\n".join(texts), f"utf-8+{encoding}")


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _detect_encoding(lines: list[bytes]) -> str:
    """Detect the encoding of non-ASCII lines from a bounded sample."""
    sample, size = [], 0
    for line in lines:
        sample.append(line[:_SAMPLE_BYTES])
        size += len(line)
        if size >= _SAMPLE_BYTES:
            break
    return _choose_encoding(b"\n".join(sample))


def _choose_encoding(sample: bytes) -> str:
    """Return the detected encoding. Ties are resolved by plausible capitals, then by likelihood."""
    from charset_normalizer import from_bytes  # noqa: PLC0415  # few files need it

    matches = from_bytes(sample, cp_isolation=_LEGACY_ENCODINGS, preemptive_behaviour=False)
    best = matches.best()
    if best is None:
        return "latin-1"
    equal_matches = [match for match in matches if (match.chaos, match.coherence) == (best.chaos, best.coherence)]
    names = {name for match in equal_matches for name in match.could_be_from_charset}
    return min(names, key=lambda name: (_count_inner_capitals(sample, name), _LEGACY_ENCODINGS.index(name)))


def _count_inner_capitals(sample: bytes, encoding: str) -> int:
    """Count lower-case letters before non-ASCII capitals: text in the wrong Cyrillic code page has many."""
    text = sample.decode(encoding, "replace")[:_MAX_COMPARED_CHARS]
    return sum(first.islower() and second.isupper() for first, second in pairwise(text) if not second.isascii())


def _decode_as(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:  # not in the sample; Latin-1 decodes every byte
        return data.decode("latin-1")


def find_skip_reason(path: str, text: str) -> str:
    """Return why a text is not meant for readers (``minified file``, ``generated file``); empty if it is."""
    if _is_minified(path.lower(), text):
        return "minified file"
    return _GENERATED_REASON if _is_generated(text) else ""


def _is_generated(text: str) -> bool:
    """Return whether a comment in the first lines declares the file generated; strings in code do not count."""
    head = "\n".join(text[: _HEADER_LINES * _LONG_LINE_CHARS].split("\n", _HEADER_LINES)[:_HEADER_LINES])
    if "generated" not in head.lower():
        return False
    block = _HEADER_BLOCK.match(head)
    comments = [block.group()] if block else []
    comments += _COMMENT_LINE.findall(head)
    return _GENERATED.search("\n".join(comments)) is not None


def _is_minified(path: str, text: str) -> bool:
    """Return whether most of a text is long lines of code in a minifiable language, or nearly all of it is one line.

    A long line of data among normal lines does not count.
    """
    if path.endswith(_MINIFIED_SUFFIXES):
        dense = sum(len(line) for line in text.splitlines() if len(line) > _LONG_LINE_CHARS and _is_dense(line))
        return 2 * dense > len(text)
    if path.endswith(_PROSE_SUFFIXES) or text.count("\n") >= _MAX_MINIFIED_LINES:
        return False
    return any(len(line) > _ENDLESS_LINE_CHARS for line in text.splitlines())


def _is_dense(line: str) -> bool:
    return sum(map(line.count, "(){};")) > _MIN_CODE_DENSITY * len(line)
