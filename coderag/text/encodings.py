"""Decoding of a file's bytes: by a byte order mark, as UTF-8, as declared, or as detected.

A declaration is what the tools of the file's language read: a coding comment in its first lines, an XML or HTML header, a
rule ``@charset``, an editor's modeline, or ``working-tree-encoding`` in ``.gitattributes``. charset-normalizer detects what
nothing declares; for the East Asian encodings, which share most byte pairs, the commonness of the characters decides.
"""

import codecs
import re
from itertools import pairwise
from math import inf, log
from typing import NamedTuple

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

_DECLARED_LINES = 5
_MAX_DECLARING_BYTES = 1_024
_DECLARATION = re.compile(
    rb"""(?:\b(?:file)?(?:en)?coding|\bfenc)\s*[:=]\s*["']?([A-Za-z][\w.-]*)
    | \bencoding\s*=\s*["']([A-Za-z][\w.-]*)["'] | \bcharset\s*=\s*["']?([A-Za-z][\w.-]*) | ^@charset\s+"([\w.-]+)\"""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_SEVEN_BIT_CODECS = re.compile(r"iso2022|hz", re.IGNORECASE)
"""Encodings whose bytes are ASCII, so that they decode as UTF-8 and mean nothing."""

_SEVEN_BIT_MARKS = (b"\x1b$", b"\x1b(", b"~{")

_COMMON_LEAD_BYTES: dict[str, tuple[tuple[int, int, float], ...]] = {
    "gb18030": ((0xA1, 0xA3, 0.1), (0xB0, 0xD7, 0.87)),
    "big5": ((0xA1, 0xA3, 0.1), (0xA4, 0xC6, 0.87)),
    "euc_jp": ((0xA1, 0xA1, 0.1), (0xA4, 0xA5, 0.5), (0xB0, 0xCF, 0.37)),
    "cp932": ((0x81, 0x81, 0.1), (0x82, 0x83, 0.5), (0x88, 0x97, 0.37)),
    "cp949": ((0xA1, 0xA1, 0.05), (0xB0, 0xC8, 0.92)),
}
"""First and last lead byte of punctuation, kana, hangul and the common ideographs, with their share of a text.
Sources: GB 2312 and JIS X 0208 (level 1), Big5 (frequently used characters), KS X 1001 (hangul syllables)."""
_RARE_PROBABILITY = 0.03 / 80
"""Of each other character."""


class DecodedText(NamedTuple):
    """A text and the name of its encoding."""

    text: str
    encoding: str


def decode(data: bytes, declared_encoding: str = "") -> DecodedText | None:
    """Decode a file; return None if the bytes are not text. The text has no lone surrogates.

    Args:
        data: The file's bytes.
        declared_encoding: Encoding that something outside the file declares; the file's own declaration takes precedence.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return DecodedText(data.decode(encoding, "replace"), encoding)
    if b"\0" in data[:_SNIFFED_BYTES]:
        declared = _find_declared_codec(data, declared_encoding)
        return _decode_strictly(data, declared) or _decode_unmarked_utf16(data)
    if any(mark in data for mark in _SEVEN_BIT_MARKS):
        declared = _find_declared_codec(data, declared_encoding)
        if _SEVEN_BIT_CODECS.match(declared) and (decoded := _decode_strictly(data, declared)):
            return decoded
    try:
        return DecodedText(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        if _compute_control_share(data[:_SNIFFED_BYTES]) > _MAX_CONTROL_SHARE:
            return None
        return _decode_strictly(data, _find_declared_codec(data, declared_encoding)) or _decode_legacy(data)


def _find_declared_codec(data: bytes, declared_encoding: str) -> str:
    """Return the codec of the encoding that a file declares in its first lines; empty without a usable one."""
    head = b"\n".join(data[:_MAX_DECLARING_BYTES].split(b"\n", _DECLARED_LINES)[:_DECLARED_LINES])
    match = _DECLARATION.search(head)
    names = [name.decode("ascii") for name in match.groups() if name] if match else []
    for name in (*names, declared_encoding):
        try:
            codec = codecs.lookup(re.sub(r"-(?:unix|dos|mac)$", "", name))
        except (LookupError, ValueError):
            continue
        if codec._is_text_encoding:  # not rot13, base64 and the like
            return codec.name
    return ""


def _decode_strictly(data: bytes, codec: str) -> DecodedText | None:
    """Decode bytes by a codec; None without one, if bytes are invalid in it, or if the result is no text."""
    if not codec or codec == "utf-8":
        return None
    try:
        text = data.decode(codec)
    except UnicodeError:
        return None
    is_text = _compute_control_share(text[:_SNIFFED_BYTES].encode("utf-8", "replace")) <= _MAX_CONTROL_SHARE
    return DecodedText(text.encode("utf-8", "replace").decode(), codec) if is_text else None


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
    if names <= _COMMON_LEAD_BYTES.keys():
        return _choose_east_asian_encoding(sample)
    return min(names, key=lambda name: (_count_inner_capitals(sample, name), _LEGACY_ENCODINGS.index(name)))


def _choose_east_asian_encoding(sample: bytes) -> str:
    """Return the encoding under which the characters are the likeliest."""
    return max(_COMMON_LEAD_BYTES, key=lambda encoding: _compute_log_likelihood(sample, encoding))


def _compute_log_likelihood(sample: bytes, encoding: str) -> float:
    """Return the log-likelihood of the non-ASCII characters of a text; minus infinity if bytes are invalid."""
    try:
        text = sample.decode(encoding)
    except UnicodeDecodeError:
        return -inf
    codes = [character.encode(encoding) for character in text[:_MAX_COMPARED_CHARS] if not character.isascii()]
    ranges = _COMMON_LEAD_BYTES[encoding]
    return sum(
        next(
            (
                log(share / (last - first + 1))
                for first, last, share in ranges
                if len(code) == 2 and first <= code[0] <= last
            ),
            log(_RARE_PROBABILITY),
        )
        for code in codes
    )


def _count_inner_capitals(sample: bytes, encoding: str) -> int:
    """Count lower-case letters before non-ASCII capitals: text in the wrong Cyrillic code page has many."""
    text = sample.decode(encoding, "replace")[:_MAX_COMPARED_CHARS]
    return sum(first.islower() and second.isupper() for first, second in pairwise(text) if not second.isascii())


def _decode_as(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:  # not in the sample; Latin-1 decodes every byte
        return data.decode("latin-1")
