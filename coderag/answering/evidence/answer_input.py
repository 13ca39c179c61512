"""Input of an extractive answer: the question, what was found, and the open index."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from coderag.answering.evidence.call_flow import Flow, find_flow
from coderag.answering.evidence.flow_relevance import FlowRelevance
from coderag.answering.evidence.index_reader import Declared, IndexReader
from coderag.answering.evidence.prototypes import prefer_definitions
from coderag.question.failure_words import describe_failure
from coderag.retrieval.query_context import QueryContext
from coderag.schema.query import Analysis, QueryState, QuestionReading
from coderag.schema.vocabulary import FILE_NAMED_KINDS
from coderag.stores.snippets import Snippet
from coderag.text.tokenizer import tokenize_query

_ASKABLE = frozenset({"identifier", "qualified_name", "path", "location"})


class AnswerInput:
    """What the sections of an answer are built from.

    Args:
        context: Query context.
        state: State with analysis, results, related code and judgement.
        results: Results, best first.
        related: Code related to them.
    """

    def __init__(
        self, context: QueryContext, state: QueryState, results: Sequence[Snippet], related: Sequence[Snippet]
    ) -> None:
        self.project = context.project
        self.state = state
        self.related = related
        self._context = context
        self._results = results

    @cached_property
    def reader(self) -> IndexReader:
        """The open index."""
        return IndexReader(self._context, self.state.get("filters"))

    @cached_property
    def results(self) -> Sequence[Snippet]:
        """Results, best first; definitions in place of prototypes."""
        return prefer_definitions(self.reader, self._results)

    @cached_property
    def flow(self) -> Flow | None:
        """Flow that the question asks for; None if none is known."""
        return find_flow(self.reader, self.state, self.flow_relevance)

    @cached_property
    def flow_relevance(self) -> FlowRelevance:
        """Relevance of declarations to the question."""
        return FlowRelevance(self._context, self.reader, self.state)

    @property
    def analysis(self) -> Analysis:
        """Analysis of the question."""
        return self.state["analysis"]

    @property
    def reading(self) -> QuestionReading:
        """Reading of the question's wording."""
        return self.state["analysis"]["reading"]

    @cached_property
    def names(self) -> list[str]:
        """Names, paths and locations that the question mentions."""
        return list(dict.fromkeys(one["text"] for one in self.analysis["entities"] if one["kind"] in _ASKABLE))

    @cached_property
    def term_idf(self) -> Mapping[str, float]:
        """IDF of the question's terms; names that it mentions weigh most. Of a report also by the weights of its parts."""
        report = self.analysis["report"]
        weights = report["terms"] if report else dict.fromkeys(self.analysis["terms"], 1.0)
        idf = self.reader.corpus.idf
        found = {term: weight * idf(term) for term, weight in weights.items() if not term.startswith("=")}
        names = [
            one["text"].lower() for one in self.analysis["entities"] if one["kind"] in ("identifier", "qualified_name")
        ]
        return found | dict.fromkeys(names, 2 * max(found.values(), default=1.0))

    @cached_property
    def failure_idf(self) -> Mapping[str, float]:
        """IDF of the terms that say what goes wrong."""
        corpus = self.reader.corpus
        terms = tokenize_query(describe_failure(self.analysis["question"]))
        return {term: corpus.idf(term) for term in terms if term in corpus.term_ids and not term.startswith("=")}

    def find_declaration(self, snippet: Snippet) -> Declared | None:
        """Find the declaration that a snippet shows; None for module code, documents and files."""
        found = self.reader.of_piece(snippet) if snippet.kind not in FILE_NAMED_KINDS else None
        return None if found is None or found.kind == "file" else found
