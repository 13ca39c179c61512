"""Characters that are invisible to people but read by models: spelt out, or decoded for comparison."""

import re
import unicodedata
from html import unescape
from typing import Final

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]+"
)
"""Control characters except tab and newline, and characters without width or glyph or that change direction."""

_USEFUL_HIDDEN = re.compile(
    "\\A\ufeff|\r(?=\n|\\Z)|\x0c|(?<=[^\x00-\x7f])[\u200c\u200d\ufe0e\ufe0f]+|(?<=[#*0-9])\ufe0f(?=\u20e3)"
    "|(?<=\U0001f3f4)[\U000e0061-\U000e007a]{3,6}\U000e007f"
)
"""Legitimate hidden characters: byte order marks, CRLF, joiners in letters and emoji, flags, form feeds."""

_DECEPTIVE = re.compile(
    "[\x08\r\x1b\x9b\u202a-\u202e\u2066-\u2069\U000e0000-\U000e0fff]"
    "|(?<=[a-zA-Z])[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]+(?=[a-zA-Z])|[\u200b-\u200f\u2060-\u2064\ufeff]{4}"
)
_TERMINAL_COMMAND = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_].*?(?:\x07|\x1b\\\\|\\Z)|\x1b.?", re.DOTALL)
"""Terminal control sequences, to their end."""

_MAX_SPELT_OUT_CHARS = 4  # characters of a run; thousands would crowd out everything else

_TAG_OFFSET: Final = 0xE0000
_TAG_CHARACTERS = re.compile("[\U000e0020-\U000e007e]")
"""Unicode tags: a copy of ASCII without glyphs."""

_ESCAPE = re.compile(r"\\u\{?([0-9a-fA-F]{4})\}?|\\x([0-9a-fA-F]{2})")
_ACCENTS = re.compile("(?<=[a-z])[\u0300-\u036f]+")
_MIXED_WORD = re.compile(r"\b(?=\w*[a-z])(?=\w*[\u0370-\u052f])\w+")
_SPACED_WORDS = re.compile(r"(?<!\w)\w(?:[ .\-_*|/+]{1,3}\w(?!\w)){5,}")
_SPACE_IN_WORD = re.compile(r"(?<=\w)[ .\-_*|/+](?=\w)")
_LOOKALIKES: Final = str.maketrans("асԁеһіјӏкмпорԛгѕтуѵԝхвнзαβεικνορτυχω", "acdehijlkmnopqrstyvwxbhzabeikvoptuxw")
LETTERS_BY_DIGIT: Final = str.maketrans("013457", "oieast")
"""Letters that digits stand for, as in ``1gn0r3``."""


def reveal_hidden(text: str) -> tuple[str, bool]:
    """Spell out hidden characters (``<U+200B>``); return whether some of them are deceptive.

    Legitimate ones and newlines are unchanged.
    """
    is_deceptive = False

    def reveal(match: re.Match[str]) -> str:
        nonlocal is_deceptive
        start, parts = match.start(), []
        while start < match.end():
            if useful := _USEFUL_HIDDEN.match(text, start, match.end() + 1):
                parts.append(useful[0])
                start = useful.end()
                continue
            next_useful = _USEFUL_HIDDEN.search(text, start, match.end() + 1)
            end = next_useful.start() if next_useful else match.end()
            is_deceptive = (
                is_deceptive or bool(_DECEPTIVE.match(text, start)) or bool(_DECEPTIVE.search(text, start, end))
            )
            parts.append(_format_code_points(text[start:end]))
            start = end
        return "".join(parts)

    return _HIDDEN.sub(reveal, text), is_deceptive


def deobfuscate(text: str) -> str:
    """Normalize a text as a model may read it, lower case and without tricks, to match patterns.

    Hidden characters are dropped, and hidden letters (Unicode tags) decoded. Escapes and entities are replaced.
    Look-alikes of Latin letters, accents, full-width letters and s p a c e d out words become plain. Line numbers may
    differ.
    """
    if not text.isascii():
        text = _TAG_CHARACTERS.sub(lambda match: chr(ord(match[0]) - _TAG_OFFSET), text)
        text = unicodedata.normalize("NFKD", _HIDDEN.sub(_replace_hidden, text).casefold())
        text = unicodedata.normalize("NFC", _ACCENTS.sub("", text))
        text = _MIXED_WORD.sub(lambda match: match[0].translate(_LOOKALIKES), text)
    else:
        text = _HIDDEN.sub(_replace_hidden, text).lower()
    if "&" in text:
        text = unescape(text)
    if "\\" in text:
        text = _ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), text).lower()
    return _SPACED_WORDS.sub(lambda match: _SPACE_IN_WORD.sub("", match[0]), text)


def strip_hidden(text: str) -> str:
    """Remove hidden characters, except legitimate ones, and terminal control sequences."""
    return _HIDDEN.sub(lambda match: "".join(_USEFUL_HIDDEN.findall(match[0])), _TERMINAL_COMMAND.sub("", text))


def _replace_hidden(match: re.Match[str]) -> str:
    return " " if match[0].strip("\x0b\x0c\r\x1c\x1d\x1e\x85\u2028\u2029") == "" else ""


def _format_code_points(run: str) -> str:
    names = "".join(f"<U+{ord(character):04X}>" for character in run[:_MAX_SPELT_OUT_CHARS])
    more = len(run) - _MAX_SPELT_OUT_CHARS
    return f"{names}<and {more} more hidden characters>" if more > 0 else names
