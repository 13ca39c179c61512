"""What a sentence of a reply consists of: code, quotations, places, and the words between them."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from coderag.answering.generated.citation_marks import CITATION_MARK
from coderag.text.tokenizer import content_words

INLINE_CODE: Final = re.compile(r"(?<!`)(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)", re.DOTALL)
"""Code within a line."""

_QUOTED = re.compile(
    r"\"([^\"]+)\"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』|‘([^’]+)’(?!\w)|(?<!\w)'([^'\n]+)'(?!\w)"
)
_QUOTE_CHARACTERS = re.compile("[\"']")
_LINK = re.compile(r"(?<=\])\((?P<target>[^()\s]*)\)|<?(?P<address>https?://\S+)")
_LINK_LINES = re.compile(r"#L(\d+)(?:-L?(\d+))?$")
_FILE_REFERENCE = re.compile(
    r"(?<![\w/.@-])(?P<path>(?:[\w@.+~-]+/)*[\w@+~-][\w@.+~-]*\.[A-Za-z]\w{0,7})(?::L?(?P<first>\d+)(?:[-–]L?(?P<last>\d+))?)?(?![\w/])"
)
_CODE_NAME = re.compile(
    r"(?<![\w./@:-])(?:(?:[A-Za-z_]\w*(?:\.|::))*"
    r"(?:[A-Za-z_]\w*\(\)|[A-Za-z][A-Za-z0-9]*_\w+|_+[a-z]\w*|[A-Za-z][a-z0-9]+(?:[A-Z][a-z0-9]+)+(?!\w)|(?<=::)\w+)"
    r"|@[A-Za-z]\w*(?:\.\w+)*(?![\w/])|--[a-z][\w-]*\w)"
)
_DOTTED_NAME = re.compile(r"\w\w+(?:\.\w\w+)+")
_PRODUCT_NAMES: Final = frozenset(
    ("CamelCase", "camelCase", "PascalCase", "GitHub", "GitLab", "JavaScript", "TypeScript", "CoffeeScript", "PowerShell",
     "OpenTelemetry", "OpenSearch", "WebSocket", "WebSockets", "WebAssembly", "LangChain", "LangGraph", "LlamaIndex",
     "Node.js", "Vue.js", "Next.js", "Socket.IO", "ASP.NET")
)  # fmt: skip
"""What is written like a name of code and is a word."""

_QUOTE_MARK = re.compile(r"\n[ \t]*(?:>[ \t]?)+")
_CODE_TAG = re.compile(r"</?(?:code|tt|kbd|samp)>", re.IGNORECASE)
_QUESTION_END = re.compile(r"[?？؟][\s\"'”’)*_]*$")
_LEAD_IN_END = re.compile(r"[:：][\s*_]*$")
_FULL_STOP_END = re.compile(r"[.!…。！][\s\"'”’)*_]*$")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MIN_CLAIM_WORDS = (
    3  # of a claim; less is a heading or a list's bare entry. A sentence with its full stop needs one less
)
_CJK_CHARS_PER_WORD = 2  # where words have no blanks between them
_MIN_QUOTATION_WORDS = 3  # words in quotation marks; less is a way to put it


class FileReference(NamedTuple):
    """A file that a sentence names, with its lines; 0 where it gives none."""

    path: str
    first: int
    last: int


class Statement:
    """A sentence, an entry of a list, or a row of a table.

    Args:
        text: As written, in Markdown.
    """

    def __init__(self, text: str) -> None:
        self.text = _CODE_TAG.sub("`", _QUOTE_MARK.sub(" ", text))

    @cached_property
    def code(self) -> Sequence[str]:
        """What stands in backticks."""
        return [match["code"].strip() for match in INLINE_CODE.finditer(self.text)]

    @cached_property
    def text_without_code(self) -> str:
        """The text with nothing where code is."""
        return INLINE_CODE.sub(" ` ", self.text)

    @cached_property
    def quotations(self) -> Sequence[str]:
        """What is quoted: several words in quotation marks."""
        text_with_code = INLINE_CODE.sub(
            lambda match: _QUOTE_CHARACTERS.sub("", match["code"]), CITATION_MARK.sub("", self.text)
        )
        quoted = (next(filter(None, match.groups())) for match in _QUOTED.finditer(text_with_code))
        return [text for text in quoted if len(text.split()) + _count_cjk_words(text) >= _MIN_QUOTATION_WORDS]

    @cached_property
    def words(self) -> str:
        """The text without code, citations, addresses and quotations."""
        return _QUOTED.sub(" ", _LINK.sub("", CITATION_MARK.sub("", self.text_without_code)))

    @cached_property
    def file_references(self) -> Sequence[FileReference]:
        """The files that it names: in code, as the target of a link, or in words."""
        targets = [_LINK_LINES.sub(r":\1-\2", match["target"] or "").rstrip("-") for match in self._links]
        return [
            *(reference for code in (*self.code, *targets) if (reference := parse_file_reference(code))),
            *map(_to_file_reference, _FILE_REFERENCE.finditer(self.words)),
        ]

    @cached_property
    def addresses(self) -> Sequence[str]:
        """The addresses on the web that it names outside of code."""
        link_targets = (match["address"] or match["target"] for match in self._links)
        return [address.rstrip(".,;:!?)>]*_\"'") for address in link_targets if "://" in address]

    @property
    def _links(self) -> Iterator[re.Match[str]]:
        return _LINK.finditer(CITATION_MARK.sub("", self.text_without_code))

    @cached_property
    def names(self) -> Sequence[str]:
        """Names of code outside of backticks: ``snake_case``, ``CamelCase``, ``call()``, ``a.b``, ``@a``, ``--flag``."""
        dotted = [match["path"] for match in _FILE_REFERENCE.finditer(self.words) if _DOTTED_NAME.fullmatch(match[0])]
        code_names = [match[0] for match in _CODE_NAME.finditer(_FILE_REFERENCE.sub(" ", self.words))]
        return [name for name in (*dotted, *code_names) if name not in _PRODUCT_NAMES]

    @property
    def prose(self) -> str:
        """The words without places."""
        return _FILE_REFERENCE.sub(" ", self.words)

    @property
    def has_citation(self) -> bool:
        """True if it cites evidence."""
        return CITATION_MARK.search(self.text_without_code) is not None

    @property
    def is_citation_only(self) -> bool:
        """True if it is an entry of a list of sources: citations and places, and nothing said."""
        code = " ".join(_FILE_REFERENCE.sub("", code) for code in self.code)
        remaining = _FILE_REFERENCE.sub("", self.words).replace("`", "")
        return bool(self.has_citation or self.file_references) and not re.search(r"\w", code + remaining)

    @property
    def is_lead_in(self) -> bool:
        """True if it leads to what follows: it ends with a colon, or is nothing but bold words."""
        bold = self.text.startswith("**") and self.text.endswith("**") and not _FULL_STOP_END.search(self.text)
        return bool(_LEAD_IN_END.search(self.text)) or bold

    @property
    def is_question(self) -> bool:
        """True if it is a question."""
        return _QUESTION_END.search(self.text) is not None

    @property
    def has_full_stop(self) -> bool:
        """True if it ends with a full stop."""
        return _FULL_STOP_END.search(CITATION_MARK.sub("", self.text_without_code).rstrip()) is not None

    @property
    def is_claim(self) -> bool:
        """True if it says something of code: it names some, or has several words that are no stop words."""
        min_words = _MIN_CLAIM_WORDS - self.has_full_stop
        return bool(self.code or self.names or self.file_references) or _count_words(self.words) >= min_words


def parse_file_reference(code: str) -> FileReference | None:
    """Return the file that a piece of code is the path of; None if it is something else."""
    match = _FILE_REFERENCE.fullmatch(code)
    return _to_file_reference(match) if match else None


def replace_places(text: str, renamed: dict[str, str]) -> str:
    """Return a text with places, as ``path:1-2``, replaced by others."""
    return _FILE_REFERENCE.sub(lambda match: renamed.get(match[0], match[0]), text) if renamed else text


def _to_file_reference(match: re.Match[str]) -> FileReference:
    return FileReference(match["path"], int(match["first"] or 0), int(match["last"] or match["first"] or 0))


def _count_words(text: str) -> int:
    words = content_words(_CJK.sub(" ", text))
    return len([word for word in words if word.strip("_`")]) + _count_cjk_words(text)


def _count_cjk_words(text: str) -> int:
    """Return about how many words the signs of a text are that has no blanks between its words."""
    return len(_CJK.findall(text)) // _CJK_CHARS_PER_WORD
