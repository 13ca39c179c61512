"""Wording of answers in inline Markdown; text of the repository never becomes markup."""

import re
import shlex
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from coderag.schema.vocabulary import FILE_NAMED_KINDS
from coderag.stores.snippets import Snippet
from coderag.text.code_fences import make_fence

_SPACES: Final = re.compile(r"\s+")
_MARKUP: Final = re.compile(r"[\\*\[\]<>|~$]|(?<![^\W_])_|_(?![^\W_])|^(?=[#>+-])|(?<=^\d)(?=[.)])")
_SENTENCE: Final = re.compile(r"(?<=[.!?])(?:\s+|$)|(?<=[。！？])|\n\s*\n")
_HEADING: Final = re.compile(r"^\s*#+\s.*$|^.*\n[ \t]*(?:={3,}|~{3,}|-{3,}|\^{3,})[ \t]*$", re.MULTILINE)
_TAGS: Final = re.compile(
    r"(?:^|\s)@(?:api|author|category|copyright|covers|example|group|inherit[Dd]oc|internal|license|link|method|package|param|phpstan-\w+|private"
    r"|property|protected|psalm-\w+|public|returns?|see|since|subpackage|template|throws|var|version)\b.*",
    re.DOTALL,
)
"""Where the tags of a documentation comment begin, such as ``@param``: what is before them says what a thing is for."""

_INLINE_TAG: Final = re.compile(r"\{@(?:link|linkplain|code|literal|see)\s+#?([^}]+)\}")
_INHERITED: Final = re.compile(r"\{@inherit[Dd]oc\}")
_HTML: Final = re.compile(r"</?(?:b|br|code|em|i|li|ol|p|pre|strong|ul)\s*/?>", re.IGNORECASE)
_ROLE: Final = re.compile(r"(?<!\w):(?:\w+:)?\w+:`~?(?=\w)")
"""What is before a name in reStructuredText, such as ``:meth:``, with the backtick."""

_KINDS: Final = MappingProxyType({"block": "part", "impl": "implementation"})
_MAX_CODE_SPAN_CHARS = 120
_MAX_SENTENCE_CHARS = 240


def format_code(text: str) -> str:
    """Return a code span on one line, whatever the text is."""
    line = _SPACES.sub(" ", "".join(sign if sign.isprintable() else " " for sign in text)).strip()
    if "`" not in line:
        return f"`{line}`" if line else ""
    fence = make_fence(line, min_length=1)
    return f"{fence} {line} {fence}"


def format_code_line(text: str) -> str:
    """Return a line of source as a code span, cut if it is long."""
    line = _SPACES.sub(" ", text.strip())
    return format_code(line if len(line) <= _MAX_CODE_SPAN_CHARS else f"{line[:_MAX_CODE_SPAN_CHARS].rstrip()} …")


def format_command(verb: str, name: str, *options: str) -> str:
    """Return a command about the code graph that may be pasted into a shell, whatever the name is."""
    return format_code(" ".join(["coderag graph", verb, shlex.quote(name), *options]))


def format_search_command(text: str) -> str:
    """Return a command that lists all places of a text, which may be pasted likewise."""
    return format_code(f"coderag search --exact {'-- ' if text.startswith('-') else ''}{shlex.quote(text)}")


def format_prose(text: str) -> str:
    """Return words of the repository on one line, with their code spans but without any other markup."""
    line = _SPACES.sub(" ", "".join(sign if sign.isprintable() else " " for sign in text)).strip()
    parts = re.split(r"(`+[^`]+`+)", _ROLE.sub("`", line))
    escaped = [part if number % 2 else _escape(part) for number, part in enumerate(parts)]
    return "".join(escaped)


def extract_first_sentence(text: str) -> str:
    """Return the first sentence of a docstring as prose; empty if it has nothing but tags."""
    description = strip_tags(_HEADING.sub("", text))
    sentence = next((part for part in _SENTENCE.split(description.strip()) if part.strip()), "").strip()
    if len(sentence) > _MAX_SENTENCE_CHARS:
        sentence = f"{sentence[:_MAX_SENTENCE_CHARS].rsplit(' ', 1)[0]} …"
    return format_prose(sentence)


def strip_tags(text: str) -> str:
    """Return the words of a documentation comment, without its tags and the marks of HTML."""
    return _HTML.sub("", _INLINE_TAG.sub(r"`\1`", _TAGS.sub("", _INHERITED.sub("", text))))


def format_kind(kind: str) -> str:
    """Return what a kind of declaration is called in a sentence."""
    return _KINDS.get(kind) or kind.replace("_", " ")


def format_kind_with_article(kind: str) -> str:
    """Return ``a class``, ``an interface``."""
    name = format_kind(kind)
    return f"{'an' if name[0] in 'aeio' else 'a'} {name}"


def get_display_name(piece: Snippet) -> str:
    """Return the name of a piece as it is shown: code that is in no declaration has that of its file."""
    return piece.name if piece.kind not in FILE_NAMED_KINDS or piece.kind == "section" else piece.path


def format_count(number: int, singular: str, plural: str = "") -> str:
    """Return ``1 file``, ``3 files``."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def join_words(words: Sequence[str], conjunction: str = "and") -> str:
    """Return ``a``, ``a and b``, ``a, b and c``."""
    return " ".join([", ".join(words[:-1]), conjunction, words[-1]]) if len(words) > 1 else "".join(words)


def _escape(text: str) -> str:
    return _MARKUP.sub(lambda match: f"\\{match[0]}", text).replace("`", "\\`")
