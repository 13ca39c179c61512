"""Parts of a statement: code, quotations, file references, and the words between them."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from coderag.answering.generated.citation_marks import CITATION_MARK
from coderag.text.tokenizer import extract_content_words

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
"""Words that look like code names."""

_QUOTE_MARK = re.compile(r"\n[ \t]*(?:>[ \t]?)+")
_CODE_TAG = re.compile(r"</?(?:code|tt|kbd|samp)>", re.IGNORECASE)
_QUESTION_END = re.compile(r"[?？؟][\s\"'”’)*_]*$")
_LEAD_IN_END = re.compile(r"[:：][\s*_]*$")
_FULL_STOP_END = re.compile(r"[.!…。！][\s\"'”’)*_]*$")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MIN_CLAIM_WORDS = 3  # fewer are a heading or a bare list entry; a full stop lowers it by one
_CJK_CHARS_PER_WORD = 2  # in scripts without blanks between words
_MIN_QUOTATION_WORDS = 3  # fewer quoted words are a figure of speech


class FileReference(NamedTuple):
    """File named in a statement, with its lines; 0 if it gives none."""

    path: str
    first: int
    last: int


class Statement:
    """Sentence, list entry, or table row.

    Args:
        text: Markdown text.
    """

    def __init__(self, text: str) -> None:
        self.text = _CODE_TAG.sub("`", _QUOTE_MARK.sub(" ", text))

    @cached_property
    def code(self) -> Sequence[str]:
        """Inline code."""
        return [match["code"].strip() for match in INLINE_CODE.finditer(self.text)]

    @cached_property
    def text_without_code(self) -> str:
        """Text with placeholders for code."""
        return INLINE_CODE.sub(" ` ", self.text)

    @cached_property
    def quotations(self) -> Sequence[str]:
        """Quotations of several words."""
        text_with_code = INLINE_CODE.sub(
            lambda match: _QUOTE_CHARACTERS.sub("", match["code"]), CITATION_MARK.sub("", self.text)
        )
        quoted = (next(filter(None, match.groups())) for match in _QUOTED.finditer(text_with_code))
        return [text for text in quoted if len(text.split()) + _count_cjk_words(text) >= _MIN_QUOTATION_WORDS]

    @cached_property
    def words(self) -> str:
        """Text without code, citations, addresses and quotations."""
        return _QUOTED.sub(" ", _LINK.sub("", CITATION_MARK.sub("", self.text_without_code)))

    @cached_property
    def file_references(self) -> Sequence[FileReference]:
        """Files that it names: in code, as link targets, or in words."""
        targets = [_LINK_LINES.sub(r":\1-\2", match["target"] or "").rstrip("-") for match in self._links]
        return [
            *(reference for code in (*self.code, *targets) if (reference := parse_file_reference(code))),
            *map(_to_file_reference, _FILE_REFERENCE.finditer(self.words)),
        ]

    @cached_property
    def addresses(self) -> Sequence[str]:
        """Web addresses outside of code."""
        link_targets = (match["address"] or match["target"] for match in self._links)
        return [address.rstrip(".,;:!?)>]*_\"'") for address in link_targets if "://" in address]

    @property
    def _links(self) -> Iterator[re.Match[str]]:
        return _LINK.finditer(CITATION_MARK.sub("", self.text_without_code))

    @cached_property
    def names(self) -> Sequence[str]:
        """Code names outside of backticks: ``snake_case``, ``CamelCase``, ``call()``, ``a.b``, ``@a``, ``--flag``."""
        dotted = [match["path"] for match in _FILE_REFERENCE.finditer(self.words) if _DOTTED_NAME.fullmatch(match[0])]
        code_names = [match[0] for match in _CODE_NAME.finditer(_FILE_REFERENCE.sub(" ", self.words))]
        return [name for name in (*dotted, *code_names) if name not in _PRODUCT_NAMES]

    @property
    def prose(self) -> str:
        """Words without file references."""
        return _FILE_REFERENCE.sub(" ", self.words)

    @property
    def has_citation(self) -> bool:
        """True if it cites evidence."""
        return CITATION_MARK.search(self.text_without_code) is not None

    @property
    def is_citation_only(self) -> bool:
        """True if it is an entry of a source list: citations and files only."""
        code = " ".join(_FILE_REFERENCE.sub("", code) for code in self.code)
        remaining = _FILE_REFERENCE.sub("", self.words).replace("`", "")
        return bool(self.has_citation or self.file_references) and not re.search(r"\w", code + remaining)

    @property
    def is_lead_in(self) -> bool:
        """True if it introduces what follows: it ends with a colon, or is entirely bold."""
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
        """True if it states something about code: it names some, or has several content words."""
        min_words = _MIN_CLAIM_WORDS - self.has_full_stop
        return bool(self.code or self.names or self.file_references) or _count_words(self.words) >= min_words


def parse_file_reference(code: str) -> FileReference | None:
    """Parse inline code as a file reference; None if it is something else."""
    match = _FILE_REFERENCE.fullmatch(code)
    return _to_file_reference(match) if match else None


def replace_places(text: str, renamed: dict[str, str]) -> str:
    """Replace locations such as ``path:1-2`` in a text."""
    return _FILE_REFERENCE.sub(lambda match: renamed.get(match[0], match[0]), text) if renamed else text


def _to_file_reference(match: re.Match[str]) -> FileReference:
    return FileReference(match["path"], int(match["first"] or 0), int(match["last"] or match["first"] or 0))


def _count_words(text: str) -> int:
    words = extract_content_words(_CJK.sub(" ", text))
    return len([word for word in words if word.strip("_`")]) + _count_cjk_words(text)


def _count_cjk_words(text: str) -> int:
    """Estimate the number of words in scripts without blanks between words."""
    return len(_CJK.findall(text)) // _CJK_CHARS_PER_WORD
