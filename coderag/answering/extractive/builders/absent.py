"""Sections of an answer about something that is not here: what is missing, what is nearest, and what is not in the index."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.extractive.builders.doubt import describe_unknown_words, has_unknown_subject
from coderag.answering.extractive.builders.place import is_cited, list_cited, list_snippet
from coderag.answering.extractive.sections import DraftSection, DraftStatement, build_lead
from coderag.answering.extractive.wording import format_code, format_count, format_prose, join_words
from coderag.retrieval.filters import NO_FILTERS
from coderag.stores.symbol_table import split_qualified

_MAX_NEAREST, _MAX_REASONS, _MAX_NAMES = 3, 4, 3
_NAME_KINDS: Final = frozenset({"identifier", "qualified_name", "quoted"})


def build_absent(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the lead that says what is not here: a name, a place, or the words that decide. None if something comes near."""
    del sections
    corpus = answer_input.reader.corpus
    if not corpus.n_files:
        sentence = "No file of this repository is in the index."
        hint = f"{format_code('coderag index --plan')} says which files are left out and by which rule."
        return build_lead("absent", DraftStatement([f"**{sentence}** {hint}"]), missing=[sentence])
    missing = [*describe_unknown_names(answer_input), *_describe_unknown_places(answer_input)]
    if not missing and has_unknown_subject(answer_input):
        missing = [f"{describe_unknown_words(answer_input)}."]
    if not missing and answer_input.results:
        return None
    sentences = missing or [f"Nothing in this index of {format_count(corpus.n_files, 'file')} answers this."]
    first, *further = sentences
    scope = _describe_filters(answer_input)
    text = " ".join([f"**{first}**", *further, *([scope] if scope else [])])
    return build_lead("absent", DraftStatement([text]), missing=sentences)


def build_nearest(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of the nearest results, which may have nothing to do with the question."""
    if sections and sections[0].kind not in ("absent", "place"):
        return None
    cited = list_cited(sections)
    nearest = [snippet for snippet in answer_input.results if not is_cited(snippet, cited)]
    statements = [list_snippet(answer_input, snippet) for snippet in nearest[:_MAX_NEAREST]]
    return DraftSection("nearest", statements, "Nearest, but perhaps unrelated") if statements else None


def build_unindexed(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of files that nothing is known of, those that the question may be about first."""
    del sections
    state, corpus = answer_input.state, answer_input.reader.corpus
    statements = []
    for file in state["judgement"]["not_indexed"] if "judgement" in state else ():
        path, _, reason = file.partition(": ")
        statements.append(
            DraftStatement([f"{format_code(path)}: {format_prose(reason)}; the question may be about it."])
        )
    reasons = Counter(record.reason for record in corpus.snapshot.read_files() if record.outcome != "indexed")
    statements += [
        DraftStatement([f"{format_count(number, 'file')}: {format_prose(reason)}"])
        for reason, number in reasons.most_common(_MAX_REASONS)
    ]
    return DraftSection("unindexed", statements, "Not in the index") if statements else None


def find_unknown_names(answer_input: AnswerInput) -> list[str]:
    """Find the names in a question that nothing in the repository, or imported into it, is called by.

    Of a report none: it tells of other programs as well.
    """
    reader, analysis = answer_input.reader, answer_input.analysis
    entities = [] if analysis["report"] else analysis["entities"]
    names = [entity["text"] for entity in entities if entity["kind"] in _NAME_KINDS and " " not in entity["text"]]
    return [
        name
        for name in names
        if not reader.corpus.symbols.find(name) and not reader.graph.symbol_resolver.find_candidates(name)
    ]


def describe_unknown_names(answer_input: AnswerInput) -> list[str]:
    """Describe each name of a question that nothing is called by, with names that are spelt nearly so."""
    corpus = answer_input.reader.corpus
    sentences = []
    for name in find_unknown_names(answer_input):
        if len(corpus.find_chunks_with_name(name)):
            sentences.append(
                f"Nothing that the index knows declares {format_code(name)}, but {_describe_users(answer_input, name)}."
            )
            continue
        nearest = [format_code(other) for other in corpus.symbols.suggest_names(name, _MAX_NAMES)]
        hint = f" Close by spelling: {join_words(nearest, 'or')}." if nearest else ""
        sentences.append(f"Nothing is called {format_code(name)}.{hint}")
    return sentences


def _describe_users(answer_input: AnswerInput, name: str) -> str:
    """Describe which declarations have a name in their code that none declares, such as an attribute set in passing."""
    *_, last = split_qualified(name)
    lines = answer_input.reader.find_mentions(last, []).lines
    users = dict.fromkeys(
        line.symbol for line in lines if line.context == "code" and line.symbol and line.role != "test"
    )
    if not users:
        return "it is written in the code"
    names = [format_code(user) for user in list(users)[:_MAX_NAMES]]
    more = [f"{len(users) - len(names):,} more"] if len(users) > len(names) else []
    verb = "has" if len(users) == 1 else "have"
    return f"{format_count(len(users), 'declaration')} {verb} it in the code: {join_words([*names, *more])}"


def _describe_unknown_places(answer_input: AnswerInput) -> list[str]:
    entities = [] if answer_input.analysis["report"] else answer_input.analysis["entities"]
    places = [entity["text"] for entity in entities if entity["kind"] in ("path", "location")]
    return [
        f"No indexed file has the place {format_code(place)}." for place in places if not _is_place(answer_input, place)
    ]


def _is_place(answer_input: AnswerInput, place: str) -> bool:
    corpus = answer_input.reader.corpus
    path, _, line = place.rpartition(":") if place.rpartition(":")[2].isdigit() else (place, "", "1")
    path = path.rstrip("/")
    lengths = zip(corpus.paths, corpus.file_line_counts.tolist(), strict=True)
    return any(
        (f"/{known}".endswith(f"/{path}") and int(line) <= lines) or f"/{path}/" in f"/{known}"
        for known, lines in lengths
    )


def _describe_filters(answer_input: AnswerInput) -> str:
    filters = answer_input.state.get("filters") or NO_FILTERS
    chosen = [
        "changed files" if kind == "changed" else f"{kind} {', '.join(format_code(str(entity)) for entity in values)}"
        for kind, values in filters.items()
        if isinstance(values, list) and values
    ]
    return f"Only what the filters let through was searched: {join_words(chosen)}." if chosen else ""
