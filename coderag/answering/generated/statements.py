"""What a sentence of a reply consists of: code, quotations, places, and the words between them."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from coderag.answering.generated.citation_marks import MARK
from coderag.text.tokenizer import content_words

CODE: Final = re.compile(r"(?<!`)(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)", re.DOTALL)
"""Code within a line."""

_QUOTED = re.compile(
    r"\"([^\"]+)\"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』|‘([^’]+)’(?!\w)|(?<!\w)'([^'\n]+)'(?!\w)"
)
_QUOTES_OF_CODE = re.compile("[\"']")
_LINK = re.compile(r"(?<=\])\((?P<target>[^()\s]*)\)|<?(?P<address>https?://\S+)")
_LINES_OF_LINK = re.compile(r"#L(\d+)(?:-L?(\d+))?$")
_PLACE = re.compile(
    r"(?<![\w/.@-])(?P<path>(?:[\w@.+~-]+/)*[\w@+~-][\w@.+~-]*\.[A-Za-z]\w{0,7})(?::L?(?P<first>\d+)(?:[-–]L?(?P<last>\d+))?)?(?![\w/])"
)
_NAME = re.compile(
    r"(?<![\w./@:-])(?:(?:[A-Za-z_]\w*(?:\.|::))*"
    r"(?:[A-Za-z_]\w*\(\)|[A-Za-z][A-Za-z0-9]*_\w+|_+[a-z]\w*|[A-Za-z][a-z0-9]+(?:[A-Z][a-z0-9]+)+(?!\w)|(?<=::)\w+)"
    r"|@[A-Za-z]\w*(?:\.\w+)*(?![\w/])|--[a-z][\w-]*\w)"
)
_DOTTED = re.compile(r"\w\w+(?:\.\w\w+)+")
_NO_NAMES: Final = frozenset(
    ("CamelCase", "camelCase", "PascalCase", "GitHub", "GitLab", "JavaScript", "TypeScript", "CoffeeScript", "PowerShell",
     "OpenTelemetry", "OpenSearch", "WebSocket", "WebSockets", "WebAssembly", "LangChain", "LangGraph", "LlamaIndex",
     "Node.js", "Vue.js", "Next.js", "Socket.IO", "ASP.NET")
)  # fmt: skip
"""What is written like a name of code and is a word."""

_QUOTE_MARK = re.compile(r"\n[ \t]*(?:>[ \t]?)+")
_CODE_TAG = re.compile(r"</?(?:code|tt|kbd|samp)>", re.IGNORECASE)
_QUESTION = re.compile(r"[?？؟][\s\"'”’)*_]*$")
_LEADS = re.compile(r"[:：][\s*_]*$")
_FULL_STOP = re.compile(r"[.!…。！][\s\"'”’)*_]*$")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LEAST_WORDS = 3  # of a claim; less is a heading or a list's bare entry. A sentence with its full stop needs one less
_SIGNS_A_WORD = 2  # where words have no blanks between them
_QUOTATION = 3  # words in quotation marks; less is a way to put it


class Place(NamedTuple):
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
        return [match["code"].strip() for match in CODE.finditer(self.text)]

    @cached_property
    def without_code(self) -> str:
        """The text with nothing where code is."""
        return CODE.sub(" ` ", self.text)

    @cached_property
    def quotations(self) -> Sequence[str]:
        """What is quoted: several words in quotation marks."""
        shown = CODE.sub(lambda match: _QUOTES_OF_CODE.sub("", match["code"]), MARK.sub("", self.text))
        quoted = (next(filter(None, match.groups())) for match in _QUOTED.finditer(shown))
        return [text for text in quoted if len(text.split()) + _in_words(text) >= _QUOTATION]

    @cached_property
    def words(self) -> str:
        """The text without code, citations, addresses and quotations."""
        return _QUOTED.sub(" ", _LINK.sub("", MARK.sub("", self.without_code)))

    @cached_property
    def places(self) -> Sequence[Place]:
        """The files that it names: in code, as the target of a link, or in words."""
        targets = [_LINES_OF_LINK.sub(r":\1-\2", match["target"] or "").rstrip("-") for match in self._links]
        return [
            *(place for code in (*self.code, *targets) if (place := place_of(code))),
            *map(_place, _PLACE.finditer(self.words)),
        ]

    @cached_property
    def addresses(self) -> Sequence[str]:
        """The addresses on the web that it names outside of code."""
        found = (match["address"] or match["target"] for match in self._links)
        return [one.rstrip(".,;:!?)>]*_\"'") for one in found if "://" in one]

    @property
    def _links(self) -> Iterator[re.Match[str]]:
        return _LINK.finditer(MARK.sub("", self.without_code))

    @cached_property
    def names(self) -> Sequence[str]:
        """Names of code outside of backticks: ``snake_case``, ``CamelCase``, ``call()``, ``a.b``, ``@a``, ``--flag``."""
        dotted = [match["path"] for match in _PLACE.finditer(self.words) if _DOTTED.fullmatch(match[0])]
        found = [match[0] for match in _NAME.finditer(_PLACE.sub(" ", self.words))]
        return [name for name in (*dotted, *found) if name not in _NO_NAMES]

    @property
    def prose(self) -> str:
        """The words without places."""
        return _PLACE.sub(" ", self.words)

    @property
    def cites(self) -> bool:
        """Whether it cites evidence."""
        return MARK.search(self.without_code) is not None

    @property
    def only_cites(self) -> bool:
        """Whether it is an entry of a list of sources: citations and places, and nothing said."""
        code = " ".join(_PLACE.sub("", code) for code in self.code)
        rest = _PLACE.sub("", self.words).replace("`", "")
        return bool(self.cites or self.places) and not re.search(r"\w", code + rest)

    @property
    def leads(self) -> bool:
        """Whether it leads to what follows: it ends with a colon, or is nothing but bold words."""
        bold = self.text.startswith("**") and self.text.endswith("**") and not _FULL_STOP.search(self.text)
        return bool(_LEADS.search(self.text)) or bold

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return _QUESTION.search(self.text) is not None

    @property
    def ends(self) -> bool:
        """Whether it ends with a full stop."""
        return _FULL_STOP.search(MARK.sub("", self.without_code).rstrip()) is not None

    @property
    def claims(self) -> bool:
        """Whether it says something of code: it names some, or has several words that are no stop words."""
        least = _LEAST_WORDS - self.ends
        return bool(self.code or self.names or self.places) or _number_of_words(self.words) >= least


def place_of(code: str) -> Place | None:
    """Return the file that a piece of code is the path of; None if it is something else."""
    match = _PLACE.fullmatch(code)
    return _place(match) if match else None


def with_places(text: str, renamed: dict[str, str]) -> str:
    """Return a text with places, as ``path:1-2``, replaced by others."""
    return _PLACE.sub(lambda match: renamed.get(match[0], match[0]), text) if renamed else text


def _place(match: re.Match[str]) -> Place:
    return Place(match["path"], int(match["first"] or 0), int(match["last"] or match["first"] or 0))


def _number_of_words(text: str) -> int:
    words = content_words(_CJK.sub(" ", text))
    return len([word for word in words if word.strip("_`")]) + _in_words(text)


def _in_words(text: str) -> int:
    """Return about how many words the signs of a text are that has no blanks between its words."""
    return len(_CJK.findall(text)) // _SIGNS_A_WORD
