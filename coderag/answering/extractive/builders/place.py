"""Sections of an answer to a question in plain words: the declaration that answers, its deciding lines, what to read next."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.cited_lines import CitedLines, to_cited_lines
from coderag.answering.evidence.line_reader import MAX_LINE_CHARS
from coderag.answering.extractive.excerpts import MAX_EXCERPT_LINES, build_excerpt
from coderag.answering.extractive.sections import DraftSection, DraftStatement, build_lead
from coderag.answering.extractive.wording import (
    extract_first_sentence,
    format_code,
    format_code_line,
    format_kind,
    get_display_name,
    join_words,
)
from coderag.schema.vocabulary import FILE_NAMED_KINDS, ProofRelation
from coderag.stores.snippets import Snippet
from coderag.text.tokenizer import extract_content_words, tokenize_query

_MAX_SECOND_LINES: Final = 6
_MIN_SECOND_SCORE: Final = 0.5  # relative to the first; a result that is far behind is no second answer
_MAX_NEXT: Final = 4
_MIN_NEXT_SHARE: Final = 0.3  # of the question's words that the best result has
_MAX_LACKING: Final = 4


def build_place(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the lead: the declaration or section that answers best, with the lines that decide."""
    del sections
    if not answer_input.results:
        return None
    snippet = get_full_snippet(answer_input, answer_input.results[0])
    statement = _show_snippet(answer_input, snippet, _get_relation(snippet), MAX_EXCERPT_LINES)
    parts = [*statement.parts, _describe_lack(answer_input)]
    return build_lead("place", replace(statement, parts=parts))


def build_code(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the second piece of code, if it is nearly as good as the first."""
    cited = list_cited(sections)
    first = answer_input.results[0].name if answer_input.results else ""
    scores = [result["score"] for result in answer_input.state["results"]]
    for snippet in answer_input.results[:2]:
        full = get_full_snippet(answer_input, snippet)
        is_twin = snippet is not answer_input.results[0] and snippet.name == first
        is_test = answer_input.reader.get_role(snippet.path) == "test" and not answer_input.analysis["about_tests"]
        if (
            is_twin
            or is_test
            or is_cited(full, cited)
            or (scores and snippet.score < _MIN_SECOND_SCORE * max(scores[0], 0.0))
        ):
            continue
        return build_lead("code", _show_snippet(answer_input, full, "quotes", _MAX_SECOND_LINES))
    return None


def build_next(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of what is worth reading next: results with the words of the question."""
    cited = list_cited(sections)
    shares = [compute_term_share(answer_input, snippet) for snippet in answer_input.results]
    least = _MIN_NEXT_SHARE * max(shares, default=0.0)
    about_tests = answer_input.analysis["about_tests"]
    further = [
        snippet
        for snippet, share in zip(answer_input.results, shares, strict=True)
        if share
        and share >= least
        and not is_cited(snippet, cited)
        and (about_tests or answer_input.reader.get_role(snippet.path) != "test")
    ]
    statements = [list_snippet(answer_input, snippet) for snippet in further[:_MAX_NEXT]]
    return DraftSection("next", statements, "Read next") if statements else None


def list_snippet(answer_input: AnswerInput, snippet: Snippet) -> DraftStatement:
    """Build an entry of a list of results: its name, what it is for or its line with most of the question, its place."""
    lines = to_cited_lines(snippet)
    described = describe_snippet(answer_input, snippet) or format_code_line(
        find_best_line(snippet, answer_input.term_idf)
    )
    name = get_display_name(snippet)
    named = "" if name == snippet.path else f"{format_code(name)}: "
    return DraftStatement([f"{named}{described} — ", lines], "quotes")


def get_full_snippet(answer_input: AnswerInput, snippet: Snippet) -> Snippet:
    """Return a snippet with the exact lines of its declaration: it may be only a part of it, or have blank lines around."""
    declared = answer_input.find_declaration(snippet)
    lines = answer_input.reader.read_declaration(declared) if declared and declared.name == snippet.name else None
    if lines is None or lines.path != snippet.path or lines.end_line < snippet.start_line:
        return snippet
    return replace(snippet, start_line=lines.start_line, end_line=lines.end_line, text=lines.text)


def describe_snippet(answer_input: AnswerInput, snippet: Snippet) -> str:
    """Describe what a snippet is for by its own documentation or a model's summary; never by a derived one.

    A section of a document is described by its sentence with most of the question.
    """
    if snippet.kind == "section":
        return extract_first_sentence(find_best_line(snippet, answer_input.term_idf))
    declared = answer_input.find_declaration(snippet)
    reader = answer_input.reader
    description = snippet.docstring or reader.get_chunk_summary(reader.corpus.rows_by_id[snippet.chunk_id])
    return extract_first_sentence(description or (reader.get_summary(declared) if declared else ""))


def find_best_line(snippet: Snippet, term_idf: Mapping[str, float]) -> str:
    """Find the line with most of the question; of several, the first."""
    lines = [line[:MAX_LINE_CHARS] for line in snippet.text.split("\n") if line.strip()]
    return max(lines, key=lambda line: _sum_idf(term_idf, line), default="")


def compute_term_share(answer_input: AnswerInput, snippet: Snippet) -> float:
    """Compute which share of the question's words a snippet has, 0 to 1, weighted by IDF."""
    total = sum(answer_input.term_idf.values())
    text = f"{snippet.path} {snippet.name} {snippet.text}"
    return _sum_idf(answer_input.term_idf, text) / total if total else 0.0


def _sum_idf(term_idf: Mapping[str, float], text: str) -> float:
    """Sum the IDF of the terms that a text has."""
    folded = text.lower()
    return sum(idf for term, idf in term_idf.items() if term in folded)


def list_cited(sections: Sequence[DraftSection]) -> set[CitedLines]:
    """List the lines that sections cite."""
    return {lines for section in sections for lines in section.cited}


def is_cited(snippet: Snippet, cited: set[CitedLines]) -> bool:
    """Return whether the beginning of a snippet is among cited lines."""
    return any(
        lines.path == snippet.path
        and (
            lines.start_line <= snippet.start_line <= lines.end_line
            or snippet.start_line <= lines.start_line < lines.end_line <= snippet.end_line
        )
        for lines in cited
    )


def _show_snippet(
    answer_input: AnswerInput, snippet: Snippet, relation: ProofRelation, max_lines: int
) -> DraftStatement:
    """Build the statement that says what a snippet is and is for, with its deciding lines."""
    lines, described = to_cited_lines(snippet), describe_snippet(answer_input, snippet)
    excerpt = build_excerpt(
        lines, snippet.language, answer_input.term_idf, signature=snippet.signature, max_lines=max_lines
    )
    name = f"**{format_code(get_display_name(snippet))}** ({_name_kind(snippet)}) in "
    return DraftStatement([name, lines, f": {described}" if described else "."], relation, excerpt)


def _describe_lack(answer_input: AnswerInput) -> str:
    """Describe which words of the question none of the nearest results has, where nothing clearly answers."""
    if answer_input.state["evidence"] != "not_found":
        return ""
    texts = " ".join(
        f"{snippet.path} {snippet.name} {snippet.text}" for snippet in answer_input.results[:_MAX_NEXT]
    ).lower()
    words = dict.fromkeys(extract_content_words(answer_input.analysis["question"]))
    unknown = answer_input.unknown_words.words  # the lead begins with them
    lacking = [
        word for word in words if not any(term in texts for term in tokenize_query(word)) and word not in unknown
    ]
    named = join_words([format_code(word) for word in lacking[:_MAX_LACKING]], "or")
    return f" It does not mention {named}." if named else ""


def _name_kind(snippet: Snippet) -> str:
    return "file" if snippet.kind in FILE_NAMED_KINDS and snippet.kind != "section" else format_kind(snippet.kind)


def _get_relation(snippet: Snippet) -> ProofRelation:
    return "documents" if snippet.kind == "section" else "declares"
