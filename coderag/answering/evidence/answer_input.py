"""Input of an extractive answer: the question, what was found, and the open index."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from coderag.answering.evidence.call_flow import Flow, find_flow
from coderag.answering.evidence.compared_sides import ComparedSides, find_sides
from coderag.answering.evidence.declared import CALLABLE, Declared
from coderag.answering.evidence.flow_relevance import FlowRelevance
from coderag.answering.evidence.index_reader import IndexReader
from coderag.answering.evidence.prototypes import prefer_definitions
from coderag.answering.evidence.question_ends import Ends, get_ends
from coderag.answering.evidence.relation_groups import RelatedDeclarations, find_related
from coderag.answering.evidence.setting_search import Setting, SettingSearch
from coderag.answering.evidence.unknown_words import UnknownWords, find_unknown_words
from coderag.lineage.commit_lines import CommitLineReader
from coderag.question.failure_words import describe_failure
from coderag.retrieval.query_context import QueryContext
from coderag.schema.history_evidence import HistoryEvidence, from_history_record
from coderag.schema.mentions import MentionQuery, Mentions
from coderag.schema.query import Analysis, QueryState, QuestionReading
from coderag.schema.vocabulary import FILE_NAMED_KINDS
from coderag.stores.snippets import Snippet
from coderag.text.tokenizer import tokenize_query

_ASKABLE = frozenset({"identifier", "qualified_name", "path", "location"})


class AnswerInput:
    """Input of the sections of an answer.

    Args:
        context: Query context.
        state: State with analysis, results and judgement.
        results: Results, best first.
    """

    def __init__(self, context: QueryContext, state: QueryState, results: Sequence[Snippet]) -> None:
        self.project = context.project
        self.state = state
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
    def history(self) -> HistoryEvidence | None:
        """Evidence from the history of code; None if the question does not ask for it."""
        record = self.state.get("lineage")
        return from_history_record(record) if record else None

    @cached_property
    def commit_lines(self) -> CommitLineReader:
        """Reader of the changed lines of commits."""
        return CommitLineReader(Path(self._context.root))

    @cached_property
    def flow(self) -> Flow | None:
        """Flow that the question asks for; None if none is known."""
        return find_flow(self.reader, self.state, self.flow_relevance)

    @cached_property
    def flow_relevance(self) -> FlowRelevance:
        """Relevance of declarations to the question."""
        return FlowRelevance(self._context, self.reader, self.state)

    def restrict_to(self, subject: str) -> "AnswerInput":
        """Return an input whose question asks about one of its subjects only."""
        analysis = self.analysis
        dropped = frozenset(self.reading["subjects"]) - {subject}
        restricted = Analysis(
            {
                **analysis,
                "reading": QuestionReading({**self.reading, "subjects": [subject], "coordinated": []}),
                "entities": [entity for entity in analysis["entities"] if entity["text"] not in dropped],
                "literals": [text for text in analysis["literals"] if text not in dropped],
            }
        )
        return AnswerInput(self._context, QueryState({**self.state, "analysis": restricted}), self._results)

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
        return list(dict.fromkeys(entity["text"] for entity in self.analysis["entities"] if entity["kind"] in _ASKABLE))

    @cached_property
    def related_declarations(self) -> RelatedDeclarations | None:
        """Declarations related to the subject of the question, as it asks; None if it has no subject that is known."""
        declarations = [declared for snippet in self.results if (declared := self.find_declaration(snippet))]
        return find_related(self.reader, self.state, self.names, declarations)

    @cached_property
    def compared_sides(self) -> ComparedSides | None:
        """The declarations that the question compares; None if it compares none that are known."""
        subjects = self.reading["subjects"]
        ends = get_ends(self.analysis)
        if ends and len(subjects) == len(ends):  # as they are declared
            ends = Ends(*subjects)
        return find_sides(self.reader, ends, self.results)

    @cached_property
    def mentions(self) -> Mentions | None:
        """Lines that mention the subject of the question, or the first name that it mentions; None if it mentions none."""
        related = self.related_declarations
        name = related.name if related else next(iter(self.names), "")
        declared = [
            *([related.declared] if related and related.declared else []),
            *(related.namesakes if related else ()),
        ]
        return self.reader.find_mentions(name, declared, self.mention_query) if name else None

    @property
    def mention_query(self) -> MentionQuery | None:
        """Query that the mentions answer; None for any use."""
        related = self.related_declarations
        if related is None or related.declared is None:
            return None
        if self.reading["kind"] == "hierarchy":
            return "overrides" if related.declared.kind in CALLABLE else "subclasses"
        return "tests" if self.reading["kind"] == "find_tests" else None

    @cached_property
    def term_idf(self) -> Mapping[str, float]:
        """IDF of the question's terms; names that it mentions weigh most. Of a report also by the weights of its parts."""
        report = self.analysis["report"]
        weights = report["terms"] if report else dict.fromkeys(self.analysis["terms"], 1.0)
        idf = self.reader.corpus.idf
        term_idf = {term: weight * idf(term) for term, weight in weights.items() if not term.startswith("=")}
        names = [
            entity["text"].lower()
            for entity in self.analysis["entities"]
            if entity["kind"] in ("identifier", "qualified_name")
        ]
        return term_idf | dict.fromkeys(names, 2 * max(term_idf.values(), default=1.0))

    @cached_property
    def setting(self) -> Setting | None:
        """The setting that the question asks about; None if nothing is one."""
        return SettingSearch(self.reader, self.state, self.results, self.term_idf).find()

    @cached_property
    def failure_idf(self) -> Mapping[str, float]:
        """IDF of the terms that say what goes wrong."""
        corpus = self.reader.corpus
        terms = tokenize_query(describe_failure(self.analysis["question"]))
        return {term: corpus.idf(term) for term in terms if term in corpus.term_ids and not term.startswith("=")}

    @cached_property
    def unknown_words(self) -> UnknownWords:
        """Words of the question that no indexed file has."""
        return find_unknown_words(self.reader, self.analysis)

    def find_declaration(self, snippet: Snippet) -> Declared | None:
        """Find the declaration that a snippet shows; None for module code, documents and files."""
        declared = self.reader.find_snippet_declaration(snippet) if snippet.kind not in FILE_NAMED_KINDS else None
        return None if declared is None or declared.kind == "file" else declared
