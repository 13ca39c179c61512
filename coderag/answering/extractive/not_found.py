"""Say that something is not here: what was looked for, what is near, what is not in the index, and what to try."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from coderag.answering.extractive.index import Index
from coderag.answering.extractive.pieces import also
from coderag.answering.extractive.writer import Writer, code, counted, joined, prose
from coderag.retrieval.literals import CHANNEL
from coderag.schema.query import QueryState
from coderag.stores.snippets import Snippet
from coderag.text.tokenizer import extract_content_words, tokenize_query

_MOST_NEAR, _MOST_REASONS, _MOST_NAMES = 3, 4, 3
_NAMES: Final = frozenset({"identifier", "qualified_name", "quoted"})


def write_not_found(writer: Writer, index: Index, state: QueryState, results: Sequence[Snippet]) -> list[str]:
    """Write that nothing answers a question, and return what is missing.

    Args:
        writer: Of the answer.
        index: The open index.
        state: With the analysis and the judgement.
        results: The nearest, best first; may be empty.
    """
    corpus = index.corpus
    if not corpus.n_files:
        return _write_empty(writer, index, state)
    writer.say(f"**Not found here.** Nothing in this index of {counted(corpus.n_files, 'file')} seems to answer this.")
    places = _unknown_places(index, state)
    missing = [*unknown_names(index, state), *(f"No indexed file has the place {code(place)}." for place in places)]
    nowhere = _unknown_words(index, state)
    told = [*unknown(index, state), *places]
    writer.heading("What was looked for")
    for sentence in missing:
        writer.say(f"- {sentence}")
    words = [code(word) for word in _words(state) if _is_known(index, word) and not any(word in one for one in told)]
    if words:
        writer.say(f"- Words that the index has somewhere, without an answer: {', '.join(words[:12])}.")
    if nowhere:
        sentence = (
            f"No file has the {'word' if len(nowhere) == 1 else 'words'} {joined([code(word) for word in nowhere])}."
        )
        writer.say(f"- {sentence}")
        missing = missing or [sentence]
    _filters(writer, state)
    also(writer, index, results[:_MOST_NEAR], "The nearest that there is, which may have nothing to do with it")
    _not_indexed(writer, index, state)
    writer.heading("What to try")
    if missing and any("Close by spelling" in sentence for sentence in missing):
        writer.say("- Ask again with one of the names above.")
    writer.say("- Use words that the code would use: a name, a file, a message that it prints.")
    writer.say(f"- {code('coderag search --regex PATTERN')} looks through the text of all indexed files.")
    return missing or ["Nothing in the index answers the question."]


def _write_empty(writer: Writer, index: Index, state: QueryState) -> list[str]:
    """Write that there is nothing to look in, and return that."""
    missing = "No file of this repository is in the index."
    writer.say(f"**Not found here.** {missing}")
    _not_indexed(writer, index, state)
    writer.heading("What to try")
    writer.say(f"- {code('coderag index --plan')} says which files are left out and by which rule.")
    return [missing]


def unknown_names(index: Index, state: QueryState) -> list[str]:
    """Return a sentence for each name in a question that nothing is called by, with names that are spelt nearly so."""
    sentences = _unknown_literals(state)
    for name in unknown(index, state):
        if len(index.corpus.find_chunks_with_name(name)):
            sentences.append(f"Nothing that the index knows declares {code(name)}, but it is written in the code.")
            continue
        near = [code(other) for other in index.corpus.symbols.suggest_names(name, _MOST_NAMES)]
        hint = f" Close by spelling: {joined(near, 'or')}." if near else ""
        sentences.append(f"Nothing is called {code(name)}.{hint}")
    return sentences


def _unknown_literals(state: QueryState) -> list[str]:
    """Return a sentence for the text that a question consists of, if it is no name and no result has it."""
    analysis = state["analysis"]
    if not analysis["literal_query"] or analysis["entities"]:
        return []
    has_literal = any(CHANNEL in result["channels"] for result in state["results"])
    return [] if has_literal else [f"No indexed file has the text {code(analysis['literals'][0])}."]


def unknown(index: Index, state: QueryState) -> list[str]:
    """Return the names in a question that nothing in the repository, or imported into it, is called by.

    Of a report none: it tells of other programs as well.
    """
    entities = [] if state["analysis"]["report"] else state["analysis"]["entities"]
    names = [one["text"] for one in entities if one["kind"] in _NAMES and " " not in one["text"]]
    return [
        name
        for name in names
        if not index.corpus.symbols.find(name) and not index.graph.symbol_resolver.find_candidates(name)
    ]


def _unknown_places(index: Index, state: QueryState) -> list[str]:
    entities = [] if state["analysis"]["report"] else state["analysis"]["entities"]
    places = [one["text"] for one in entities if one["kind"] in ("path", "location")]
    return [place for place in places if not _is_place(index, place)]


def _is_place(index: Index, place: str) -> bool:
    path, _, line = place.rpartition(":") if place.rpartition(":")[2].isdigit() else (place, "", "1")
    lengths = zip(index.corpus.paths, index.corpus.file_line_counts.tolist(), strict=True)
    return any(f"/{known}".endswith(f"/{path}") and int(line) <= lines for known, lines in lengths)


def _unknown_words(index: Index, state: QueryState) -> list[str]:
    """Return the words of a question of which the index has no form."""
    names = {one["text"] for one in state["analysis"]["entities"]}
    return [word for word in _words(state) if not any(word in name for name in names) and not _is_known(index, word)]


def _words(state: QueryState) -> list[str]:
    return list(dict.fromkeys(extract_content_words(state["analysis"]["question"])))


def _is_known(index: Index, word: str) -> bool:
    return any(len(index.corpus.find_chunks_with_term(term)) for term in tokenize_query(word))


def _filters(writer: Writer, state: QueryState) -> None:
    chosen = [
        f"{kind} {', '.join(code(str(one)) for one in values)}" for kind, values in _given(state) if kind != "changed"
    ]
    chosen += ["files that changed"] if any(kind == "changed" for kind, _ in _given(state)) else []
    if chosen:
        writer.say(f"- Only in what the filters let through: {joined(chosen)}.")


def _given(state: QueryState) -> list[tuple[str, Sequence[object]]]:
    filters = state.get("filters")
    return [(kind, values) for kind, values in (filters or {}).items() if isinstance(values, list) and values]


def _not_indexed(writer: Writer, index: Index, state: QueryState) -> None:
    """Write which files nothing is known of, those first that the question may be about."""
    about = state["judgement"]["not_indexed"] if "judgement" in state else []
    reasons = Counter(record.reason for record in index.corpus.snapshot.read_files() if record.outcome != "indexed")
    if not reasons:
        return
    writer.heading("What is not in the index")
    for file in about:
        path, _, reason = file.partition(": ")
        writer.say(f"- {code(path)}: {prose(reason)}; the question may be about it.")
    for reason, number in reasons.most_common(_MOST_REASONS):
        writer.say(f"- {counted(number, 'file')}: {prose(reason)}")
    writer.say(
        f"- {code('coderag status')} says more; what is ignored by git or `.coderagignore` is not listed at all."
    )
