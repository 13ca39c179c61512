"""Section of an answer about one aspect of a declaration: its signature, parameters, results, errors or documentation."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.cited_lines import CitedLines, to_cited_lines
from coderag.answering.evidence.declared import FILE, Declared
from coderag.answering.evidence.index_reader import IndexReader
from coderag.answering.evidence.line_reader import MAX_LINE_CHARS
from coderag.answering.evidence.named_declarations import find_named
from coderag.answering.extractive.builders.definition import read_signature
from coderag.answering.extractive.excerpts import build_excerpt
from coderag.answering.extractive.sections import DraftSection, DraftStatement, Part, build_lead
from coderag.answering.extractive.wording import (
    extract_first_sentence,
    format_code,
    format_code_line,
    format_count,
    join_words,
)
from coderag.schema.vocabulary import AskedAspect
from coderag.stores.symbol_table import split_qualified

_MAX_LINES, _MAX_CALLED, _MAX_HEAD_LINES = 6, 4, 8
_MAX_NAMES: Final = 5
_MAX_SIGNATURE_CHARS: Final = 400
_RAISES: Final = re.compile(
    r"\b(?:raise|throw|rethrow)\b\s*(?:new\s+)?(?P<name>[\w.:]*)|\b(?:panic|bail|unreachable|die|abort|fatal|exit)!?\s*[(\s\"']"
    r"|\b(?:Err|Left|Failure)\(\s*(?P<value>[\w.:]*)|\breturn\b.*\b(?P<error>err|[\w.]*Err(?:or)?\w*)\b|\breject\s*\("
)
_RETURNS: Final = re.compile(r"^\s*(?:return|yield)\b|[;{]\s*return\b")
_COMMENT: Final = re.compile(r"^\s*(?:#(?!\[)|//|/?\*|--|\"\"\"|''').*|\s(?://|#)\s.*$")
_STRING: Final = re.compile(r"([\"'`])(?:\\.|(?!\1).)*\1")
_ARROW: Final = re.compile(r"(?:->|=>)\s*([^{=]+?)\s*[:{;]?\s*$")
_TYPED: Final = re.compile(r"\)\s*:\s*([^{=]+?)\s*[{=;]?\s*$")
_LEADING: Final = re.compile(
    r"^(?:(?:public|private|protected|internal|static|final|virtual|inline|async|override|const)\s+)*"
    r"([\w<>\[\], .?:*&]+?)\s+\**\w+\s*\("
)
_NO_TYPE: Final = frozenset({"def", "func", "fn", "fun", "function", "sub", "local function", "async function", "defp"})


def build_detail(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the lead about the aspect of a declaration that the question asks for; None if it asks for none."""
    del sections
    aspect = answer_input.reading.get("aspect", "")
    is_documentation = answer_input.reading["kind"] == "documentation"
    if not aspect and not is_documentation:
        return None
    declared = _find_declared(answer_input)
    if declared is None:
        return None
    reader = answer_input.reader
    if is_documentation:
        return _build_documentation(answer_input, declared)
    build = _BUILDERS.get(aspect)
    return build(reader, declared) if build else None


def build_lines(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of the lines that return or raise; of a declaration that raises nothing, of what it calls."""
    if not sections or sections[0].kind != "detail" or (declared := _find_declared(answer_input)) is None:
        return None
    reader, aspect = answer_input.reader, answer_input.reading.get("aspect", "")
    cited = set(sections[0].cited)
    if aspect == "returns":
        lines = [line for line in _iter_body(reader, declared) if _RETURNS.search(line.text) and line not in cited]
        return DraftSection("lines", _list_lines(lines), "Returned values") if lines else None
    if aspect != "raises":
        return None
    if own := list(_iter_raising(reader, declared)):
        lines = [line for _, line in own if line not in cited]
        return DraftSection("lines", _list_lines(lines), "Other lines that raise") if lines else None
    called = {call.target.node: call.target for call in reader.find_calls(reader.find_call_sources(declared.node))}
    raising = [(target, line) for target in called.values() for _, line in list(_iter_raising(reader, target))[:1]]
    statements = [
        DraftStatement([f"{format_code(target.name)}: {format_code_line(line.text)} — ", line], "raises")
        for target, line in raising[:_MAX_CALLED]
    ]
    return DraftSection("lines", statements, "Raised by what it calls") if statements else None


def _find_declared(answer_input: AnswerInput) -> Declared | None:
    named = find_named(answer_input)
    return next(
        (subject.declared[0] for subject in named if subject.declared and subject.declared[0].kind != FILE), None
    )


def _build_citation(lines: CitedLines | None) -> list[Part]:
    return [" — ", lines] if lines else []


def _build_signature(reader: IndexReader, declared: Declared) -> DraftSection:
    lines = reader.read_head(declared)
    signature = read_signature(reader, declared, _MAX_SIGNATURE_CHARS)
    summary = extract_first_sentence(reader.get_summary(declared))
    parts: list[Part] = [f"**{format_code(declared.name)}** has the signature {signature}", *_build_citation(lines)]
    return build_lead("detail", DraftStatement([*parts, f". {summary}" if summary else "."], "declares"))


def _build_parameters(reader: IndexReader, declared: Declared) -> DraftSection:
    """Build how many parameters a declaration has, each as it is written, above its head."""
    parameters = _split_parameters(_read_full_signature(reader, declared))
    lines = reader.read_declaration(declared)
    head = reader.read_head(declared)
    listed = join_words([format_code(parameter) for parameter in parameters])
    takes = f"takes {format_count(len(parameters), 'parameter')}: {listed}" if parameters else "takes no parameters"
    excerpt = None
    if lines and sum(map(len, parameters)) > _MAX_SIGNATURE_CHARS:
        excerpt = build_excerpt(
            lines,
            reader.get_language(declared.path),
            {},
            signature=reader.get_signature(declared),
            max_lines=_MAX_HEAD_LINES,
        )
    return build_lead(
        "detail",
        DraftStatement([f"**{format_code(declared.name)}** {takes}", *_build_citation(head)], "declares", excerpt),
    )


def _build_returns(reader: IndexReader, declared: Declared) -> DraftSection:
    kind = _find_return_type(_read_full_signature(reader, declared))
    lines = [line for line in _iter_body(reader, declared) if _RETURNS.search(line.text)]
    head = reader.read_head(declared)
    name = f"**{format_code(declared.name)}**"
    if kind:
        lead = DraftStatement([f"{name} returns {format_code(kind)}", *_build_citation(head), "."], "declares")
    elif lines:
        lead = DraftStatement(
            [
                f"{name} returns in {format_count(len(lines), 'place')}, first {format_code_line(lines[0].text)} — ",
                lines[0],
            ],
            "quotes",
        )
    else:
        missing = f"No line of {format_code(declared.name)} returns a value, and its signature names no type."
        return build_lead(
            "detail", DraftStatement([missing, *_build_citation(head)], is_claim=False), missing=[missing]
        )
    return build_lead("detail", lead)


def _build_raises(reader: IndexReader, declared: Declared) -> DraftSection:
    """Build what a declaration raises itself, else what raises among the declarations that it calls."""
    own = list(_iter_raising(reader, declared))
    name = f"**{format_code(declared.name)}**"
    if own:
        raised = [format_code(text) for text in dict.fromkeys(filter(None, (text for text, _ in own)))]
        what = join_words(raised[:_MAX_NAMES]) if raised else "an error"
        first = own[0][1]
        lead = DraftStatement([f"{name} raises {what}: {format_code_line(first.text)} — ", first], "raises")
        return build_lead("detail", lead)
    head = reader.read_head(declared)
    missing = f"No line of {format_code(declared.name)} raises an error."
    parts: list[Part] = [
        f"**{format_code(declared.name)}** raises no error in its own lines",
        *_build_citation(head),
        ".",
    ]
    return build_lead("detail", DraftStatement(parts, is_claim=False), missing=[missing])


def _build_documentation(answer_input: AnswerInput, declared: Declared) -> DraftSection | None:
    """Build what a declaration's own documentation says, and the sections of documents that are about it."""
    reader = answer_input.reader
    summary, head = extract_first_sentence(reader.get_summary(declared)), reader.read_head(declared)
    sections = [snippet for snippet in answer_input.results if snippet.kind == "section"]
    last = declared.name.rpartition(".")[2]
    about = [snippet for snippet in sections if last in snippet.text or last in snippet.name][:_MAX_CALLED]
    statements = []
    if summary and head:
        statements.append(
            DraftStatement([f"**{format_code(declared.name)}** says of itself: {summary} — ", head], "documents")
        )
    for snippet in about:
        sentence = next((line for line in snippet.text.split("\n") if last in line and not line.startswith("#")), "")
        description = f": {extract_first_sentence(sentence)}" if sentence.strip() else ""
        statements.append(
            DraftStatement([f"{format_code(snippet.name)}{description} — ", to_cited_lines(snippet)], "documents")
        )
    return build_lead("detail", *statements) if statements else None


def _list_lines(lines: Sequence[CitedLines]) -> list[DraftStatement]:
    statements = [DraftStatement([f"{format_code_line(line.text)} — ", line], "quotes") for line in lines[:_MAX_LINES]]
    if len(lines) > _MAX_LINES:
        statements.append(DraftStatement([f"and {len(lines) - _MAX_LINES:,} more"], is_claim=False))
    return statements


def _iter_raising(reader: IndexReader, declared: Declared) -> Iterator[tuple[str, CitedLines]]:
    """Yield the types of errors that the lines of a declaration raise, empty for an unknown one, with the lines."""
    for line in _iter_body(reader, declared):
        if match := _RAISES.search(_COMMENT.sub("", _STRING.sub('""', line.text))):
            name = match["name"] or match["value"] or match["error"] or ""
            yield name if any(part[:1].isupper() for part in split_qualified(name)) else "", line


def _iter_body(reader: IndexReader, declared: Declared) -> Iterator[CitedLines]:
    """Yield the lines of a declaration that are no comments, without its first."""
    lines = reader.read_declaration(declared)
    for number, text in enumerate(lines.text.split("\n") if lines else (), declared.start_line):
        if number > declared.start_line and len(text) <= MAX_LINE_CHARS and _COMMENT.sub("", text).strip():
            yield CitedLines(declared.path, number, number, text)


def _read_full_signature(reader: IndexReader, declared: Declared) -> str:
    head = reader.read_head(declared)
    return " ".join((reader.get_signature(declared) or (head.text if head else "")).split())


def _split_parameters(signature: str) -> list[str]:
    """Split the parameters of a signature at the commas outside of brackets; the receiver is none."""
    opening = signature.find("(", signature.find(")") + 1 if signature.startswith("func (") else 0)
    depth, start = 0, opening + 1
    parameters: list[str] = []
    for position in range(opening, len(signature)) if opening >= 0 else ():
        sign = signature[position]
        depth += (sign in "([{<") - (sign in ")]}" or (sign == ">" and signature[position - 1] not in "-="))
        if (sign == "," and depth == 1) or depth == 0:
            parameters.append(signature[start:position].strip())
            start = position + 1
        if depth == 0:
            break
    return [
        text
        for text in parameters
        if text and text not in ("self", "&self", "&mut self", "cls", "this", "*", "/", "void")
    ]


def _find_return_type(signature: str) -> str:
    """Find the type that a signature returns; empty if it names none."""
    if match := _ARROW.search(signature) or _TYPED.search(signature):
        return match[1]
    match = _LEADING.match(signature)
    return match[1] if match and match[1].split(" ")[0] not in _NO_TYPE and match[1] not in _NO_TYPE else ""


_BUILDERS: Final[Mapping[AskedAspect, Callable[[IndexReader, Declared], DraftSection]]] = MappingProxyType(
    {
        "signature": _build_signature,
        "parameters": _build_parameters,
        "returns": _build_returns,
        "raises": _build_raises,
    }
)
