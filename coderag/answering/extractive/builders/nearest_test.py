"""Statement of the tests of a behaviour, where no relation of the code graph leads to them."""

from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.cited_lines import to_cited_lines
from coderag.answering.evidence.declared import Declared
from coderag.answering.extractive.builders.place import compute_term_share, get_full_snippet
from coderag.answering.extractive.excerpts import build_excerpt
from coderag.answering.extractive.sections import DraftStatement, Part
from coderag.answering.extractive.wording import format_code
from coderag.schema.vocabulary import FILE_NAMED_KINDS
from coderag.stores.snippets import Snippet
from coderag.text.tokenizer import tokenize_text

_MAX_FURTHER, _MAX_TESTS = 5, 3
_MIN_TEST_SHARE: Final = 0.5  # of the question's words that the nearest test has
_MIN_LIKENESS: Final = 0.3  # of the words of two names, by IDF


def build_nearest_test(answer_input: AnswerInput) -> DraftStatement | None:
    """Build the statement of the tests of a behaviour: the test that has most of its words, and those that are near."""
    if answer_input.reading["kind"] != "find_tests":
        return None
    tests = [
        snippet
        for snippet in answer_input.results
        if snippet.kind not in FILE_NAMED_KINDS and answer_input.reader.get_role(snippet.path) == "test"
    ]
    if not tests:
        return None
    first = get_full_snippet(answer_input, tests[0])
    lines = to_cited_lines(first)
    excerpt = build_excerpt(lines, first.language, answer_input.term_idf, signature=first.signature)
    parts: list[Part] = [f"**{format_code(first.name)}** in ", lines, " is the test that is nearest by its words."]
    least = _MIN_TEST_SHARE * compute_term_share(answer_input, first)
    likely = [snippet for snippet in tests[1:] if compute_term_share(answer_input, snippet) >= least]
    similar = [(test.name, answer_input.reader.read_head(test)) for test in _find_similar_tests(answer_input, first)]
    places = {name: place for name, place in similar[:_MAX_TESTS] if place}
    for snippet in sorted(likely, key=lambda snippet: snippet.path != first.path):
        places.setdefault(snippet.name, to_cited_lines(snippet))
    for number, (name, place) in enumerate(list(places.items())[:_MAX_FURTHER]):
        parts += [", " if number else " Also near: ", f"{format_code(name)} (", place, ")"]
    parts += ["."] if places else []
    return DraftStatement(parts, "quotes", excerpt)


def _find_similar_tests(answer_input: AnswerInput, test: Snippet) -> list[Declared]:
    """Find the tests beside a test whose names are made of much the same words, as those of one behaviour are."""
    declared = answer_input.find_declaration(test)
    if declared is None:
        return []
    idf = answer_input.reader.corpus.idf
    words = set(tokenize_text(declared.name.rpartition(".")[2]))

    def compute_likeness(other: Declared) -> float:
        theirs = set(tokenize_text(other.name.rpartition(".")[2]))
        return sum(map(idf, words & theirs)) / (sum(map(idf, words | theirs)) or 1.0)

    similar = {neighbour: compute_likeness(neighbour) for neighbour in answer_input.reader.list_siblings(declared)}
    return sorted(
        (neighbour for neighbour, likeness in similar.items() if likeness >= _MIN_LIKENESS),
        key=lambda neighbour: -similar[neighbour],
    )
