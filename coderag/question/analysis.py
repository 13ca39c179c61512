"""Understand a question without a language model: what it asks, what it names, and its terms."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final, Literal

from coderag.question.aspects import LOOKUPS, find_aspect
from coderag.question.classifier import NO_KIND, Reading, load_classifier
from coderag.question.coordination import find_coordinated
from coderag.question.cues import QUESTION_CONCEPTS, Cue, load_cues, read_asking
from coderag.question.ends import find_ends
from coderag.question.entities import find_entities, names_in
from coderag.question.hints import find_languages, find_roles
from coderag.question.history import asks_history, read_history
from coderag.question.human_language import detect_language
from coderag.question.literals import find_literals, parse_literal_query
from coderag.question.messages import find_messages, is_statement
from coderag.question.question_text import check_question
from coderag.question.report_query import make_report_query
from coderag.question.reports import Part, PartKind, Report, is_report, take_apart
from coderag.question.subjects import SubjectFinder, SubjectIndex
from coderag.question.translation import IsIndexed, Translation, translate_question
from coderag.question.wording import Token, read_tokens
from coderag.schema.query import Analysis, Entity, HistoryReading, QuestionReading
from coderag.schema.vocabulary import AnswerForm, HumanLanguage, Intent, QuestionKind
from coderag.text.tokenizer import STOP_WORDS, split_raw_tokens, tokenize_query

_MAX_TERMS = 400
_PROSE: tuple[PartKind, ...] = ("title", "prose", "steps")  # parts of a report in its human language
_CERTAIN, _LIKELY = 1.0, 0.9
_STATEMENT_INTENTS: frozenset[Intent] = frozenset({"general", "understand_module"})
"""Intents of texts that may ask nothing."""

_SYMBOL_QUERY = re.compile(
    r"^[`'\"]?(?:[A-Za-z_$][\w$]*(?:(?:::|\\|->|\.|#)[A-Za-z_$][\w$]*)+[!?]?|_[\w$]*|[A-Za-z]\w*[A-Z_]\w*|[A-Z]\w*)(?:\(\))?[`'\"]?$"
)
"""A question that is nothing but one identifier: qualified, with an underscore, or with a capital."""

_MAX_SYMBOL_QUERY_CHARS = 500
"""The pattern of a name takes a time that is quadratic in its length."""

ABOUT_ONE_NAME: Final[frozenset[Intent]] = frozenset({"find_definition", "find_usage", "hierarchy", "find_tests"})
"""Intents of questions that are about one declaration."""

_INTENTS: Final[Mapping[QuestionKind, Intent]] = MappingProxyType(
    {
        "find_definition": "find_definition", "find_usage": "find_usage", "impact": "find_usage", "path": "find_usage",
        "hierarchy": "hierarchy", "find_tests": "find_tests", "find_similar": "find_similar",
        "understand": "understand_module", "flow": "understand_module", "failure": "understand_module",
        "documentation": "documentation", "backlog": "backlog",
        "setting": "general", "history": "history", "general": "general",
    }
)  # fmt: skip
_NAMING_KINDS: Final = frozenset(
    {"find_definition", "find_usage", "hierarchy", "find_tests", "find_similar", "impact", "path"}
)
"""Kinds of questions about declarations, whose plain words may be names of them."""

_ENDED_KINDS: Final = frozenset({"path", "flow"})
_EVIDENT_TOPICS: Final[Mapping[str, Sequence[QuestionKind]]] = {
    "failure": ("failure",), "setting": ("setting",), "flow": ("flow", "path"),
}  # fmt: skip
"""Kinds by the topic that lines of code can show: one that raises, one that sets a default, a chain of calls."""

_TEST_CONCEPTS: Final = frozenset({"test", "mock"})
_DOCUMENT_CONCEPTS: Final = frozenset({"document", "says"})
_ARTICLES: Final = frozenset(
    {"the", "a", "an", "our", "this", "der", "die", "das", "den", "dem", "la", "le", "el", "o"}
)
_PREPOSITIONS: Final = frozenset(
    {"of", "in", "for", "about", "inside", "von", "des", "im", "über", "de", "du", "del", "do", "da"}
)
_PROJECT_WORDS: Final = ("this", "project")
_MIN_CONFIDENCE: Final = 0.5
"""Confidence below which a question is searched for by its words."""

_SURE_CONFIDENCE: Final = 0.8
_COMPARING_CONCEPTS: Final = frozenset({"similar", "duplicate", "same", "call", "use", "import", "test", "change"})
"""Concepts of questions about a place that are more than what it is."""

_SCRIPT_EDGE: Final = re.compile(r"(?<=[A-Za-z0-9_)`])(?=[\u3040-\u9fff])|(?<=[\u3040-\u9fff])(?=[A-Za-z0-9_`])")


def analyze(
    query: str, project: str = "", is_indexed: IsIndexed | None = None, names: SubjectIndex | None = None
) -> Analysis:
    """Return what a question asks for; its terms are English whatever its language.

    Args:
        query: The question as asked.
        project: Name of the repository: as a word of a question it does not say where in the repository to look.
        is_indexed: Whether the index has a term, to choose among the English words of another language's word.
        names: Names of the index, which decide what in the question is a name.

    Raises:
        InvalidQueryError: The question is empty or longer than `MAX_QUERY_BYTES`.
    """
    check_question(query)
    language = detect_language(query)
    if is_report(query):
        return _report(query, project, language, is_indexed)
    translation = None if language == "en" else translate_question(query, language, is_indexed)
    return _Analyzer(_SCRIPT_EDGE.sub(" ", query), language, project, names).analyze(translation)


class _Analyzer:
    """Analyses one question.

    Args:
        query: The question, with spaces between scripts.
        language: Its human language.
        project: Name of the repository.
        names: Names of the index.
    """

    def __init__(self, query: str, language: HumanLanguage, project: str, names: SubjectIndex | None) -> None:
        self._query = query
        self._language = language
        self._project = project
        self._names = names
        self._tokens: list[Token] = read_tokens(query, language)
        self._cues: list[Cue] = load_cues().read(self._tokens)
        self._entities = [*find_entities(query), *self._find_folders()]
        self._finder = SubjectFinder(self._tokens, self._cues, self._entities, names)
        self._is_symbol = len(query) <= _MAX_SYMBOL_QUERY_CHARS and bool(_SYMBOL_QUERY.match(query.strip()))

    def analyze(self, translation: Translation | None) -> Analysis:
        """Return the analysis.

        Args:
            translation: The question in English if it is in another language.
        """
        query, entities = self._query, self._entities
        is_place = any(entity["kind"] in ("location", "snippet") for entity in entities)
        literal = "" if is_place else parse_literal_query(query)
        reading, confidence = self._read()
        if (history := self._read_history(reading, translation.text if translation else query)) is not None:
            reading["history"] = history
        intent = self._choose_intent(reading, confidence)
        is_comparison = reading["form"] == "comparison" and bool(reading["ends"])
        if intent == "find_tests" and not self._names_target(reading, confidence):
            reading["subjects"] = self._finder.marked_names  # the tests of a behaviour
        if intent not in ABOUT_ONE_NAME and not is_comparison and not reading.get("aspect"):
            reading["subjects"] = self._finder.marked_names  # plain words are searched for
            if _INTENTS[reading["kind"]] in ABOUT_ONE_NAME:
                reading = QuestionReading({**reading, "kind": NO_KIND, "relation": "", "direction": "", "ends": []})
        if reading["form"] == "overview" and not reading["is_of_whole"]:
            reading["subjects"] = self._finder.find()
        question = translation.text if translation else query
        question = question if self._is_symbol else _without_project(question, self._project)
        if intent == "documentation":
            question = self._without_documents(question)
        about_names = intent in ABOUT_ONE_NAME and bool(reading["subjects"]) and not self._has_more_words(reading)
        names = reading["subjects"]
        if not names and not entities and query.isascii() and query.strip().isidentifier():
            names = [query.strip()]  # one bare word may be a name as well, whatever else it means
        if about_names:  # the parts of a name say nothing more
            entities = [item for item in entities if item["text"] in names or not _is_in_any(item["text"], names)]
            question = query if translation else question
        terms = " ".join(names) if about_names else question
        about_unused = self._about_unused(reading)
        if about_unused == "list":
            entities = [*entities, *self._find_named_folders()]
        return Analysis(
            human_language=translation.language if translation else "en",
            unknown_words=list(translation.unknown) if translation else [],
            intent=intent,
            reading=reading,
            confidence=confidence,
            entities=_with_names(entities, names),
            terms=tokenize_query(terms)[:_MAX_TERMS],
            expanded_terms=list(translation.expanded_terms) if translation and not about_names else [],
            about_tests=intent == "find_tests" or self._has_cue(_TEST_CONCEPTS),
            symbol_query=self._is_symbol,
            literals=[literal] if literal else [] if is_place else find_literals(question),
            literal_query=bool(literal),
            question=question,
            text=question,
            similar_to="",
            about_unused=about_unused,
            languages=find_languages(query),
            roles=find_roles(query),
            messages=self._find_messages(reading),
            is_statement=self._is_statement(intent, is_place=is_place),
            report=None,
        )

    def _is_statement(self, intent: Intent, *, is_place: bool) -> bool:
        """Return whether the text asks nothing; one with code or a place does not say that something is a duplicate."""
        is_possible = intent in _STATEMENT_INTENTS or (intent == "find_similar" and not is_place)
        return is_possible and is_statement(self._query, self._cues)

    def _find_messages(self, reading: QuestionReading) -> list[str]:
        messages = find_messages(self._query, self._entities, self._tokens, self._cues)
        if reading["kind"] == "failure":
            return messages
        quoted = {entity["text"] for entity in self._entities}
        return [text for text in messages if text in quoted or "\n" in self._query]

    def _read(self) -> tuple[QuestionReading, float]:
        """Return what the question asks, by its syntax or by the classifier, and how sure that is."""
        if self._is_symbol:
            name = self._query.strip().strip("`'\"").removesuffix("()")
            return _make_reading("find_definition", "place", [name]), _CERTAIN
        if any(entity["kind"] == "snippet" for entity in self._entities):
            return _make_reading("find_similar", "list", []), _LIKELY
        if self._asks_of_place():
            return _make_reading("find_definition", "place", []), _LIKELY
        classified = load_classifier().classify(self._mask_names())
        if (reading := self._read_aspect(classified)) is not None:
            return reading, max(classified.confidence, _LIKELY)
        subjects = self._find_subjects(classified)
        is_ended = classified.kind in _ENDED_KINDS or classified.form == "comparison"
        is_directed = classified.kind in _ENDED_KINDS
        ends = find_ends(self._tokens, self._cues, subjects, is_directed=is_directed) if is_ended else []
        return QuestionReading(
            kind=classified.kind,  # type: ignore[typeddict-item]  # labels of the model are those of the vocabulary
            relation=classified.relation,  # type: ignore[typeddict-item]
            direction=classified.direction,  # type: ignore[typeddict-item]
            form=classified.form,  # type: ignore[typeddict-item]
            subjects=subjects,
            ends=ends,
            is_of_whole=classified.form == "overview" and self._is_of_whole(subjects),
            coordinated=find_coordinated(self._tokens, self._cues, subjects),
            topic_probabilities={
                topic: round(sum(classified.probabilities[kind] for kind in kinds), 3)
                for topic, kinds in _EVIDENT_TOPICS.items()
            },
        ), classified.confidence

    def _read_history(self, reading: QuestionReading, english: str) -> HistoryReading | None:
        return read_history(self._query, self._tokens, reading, self._list_concepts(), english)

    def _list_concepts(self) -> frozenset[str]:
        return frozenset[str]().union(*(cue.concepts for cue in self._cues))

    def _read_aspect(self, classified: Reading) -> QuestionReading | None:
        """Return the reading of a question for an aspect of what it names; None if it says more than that."""
        concepts = self._list_concepts()
        asking = read_asking(load_cues("aspects").read(self._tokens))
        aspect = find_aspect(asking, concepts, classified.kind)
        if not aspect or self._asks_for_subject(asking) or not (subjects := self._finder.find()):
            return None
        kind, form = LOOKUPS[aspect]
        reading = _make_reading(kind, form, subjects)
        return None if self._has_more_words(reading, asking) else QuestionReading({**reading, "aspect": aspect})

    def _asks_for_subject(self, asking: Collection[int]) -> bool:
        """Whether a question word is the subject of a verb, as in "what raises it": then the name is its object."""
        is_subject = {"who", "what"} if self._language == "en" else {"who"}
        first = next((cue for cue in self._cues if not is_subject.isdisjoint(cue.concepts)), None)
        if first is None or first.last + 1 not in asking:
            return False
        following = self._tokens[first.last + 2 :]
        return any(token.is_mask for token in following[:2]) and not any(
            cue.first > first.last and not cue.concepts.isdisjoint({"do", "can", "is"}) for cue in self._cues
        )

    def _mask_names(self) -> list[Token]:
        """Return the tokens with masks for the names of the index, and words for the repository's name."""
        return [
            replace(token, text=text)
            for token in self._finder.mask_names()
            for text in (_PROJECT_WORDS if self._is_project(token) else (token.text,))
        ]

    def _is_project(self, token: Token) -> bool:
        return bool(self._project) and token.source.lower() == self._project.lower()

    def _find_folders(self) -> list[Entity]:
        """Return the folders that the question marks with a slash at their end."""
        marked = [token.source for token in self._tokens if token.text == "<path>" and token.source.endswith("/")]
        return [Entity(kind="path", text=text.rstrip("/")) for text in marked]

    def _find_named_folders(self) -> list[Entity]:
        """Return the plain words that are folders of the index."""
        words = self._list_plain_words() if self._names else []
        return [Entity(kind="path", text=word) for word in words if self._names and self._names.has_folder(word)]

    def _asks_of_place(self) -> bool:
        """Whether the question is nothing but a path, or a place with words that only ask."""
        if all(token.text == "<path>" or not token.text[0].isalnum() for token in self._tokens):
            return any(token.is_mask for token in self._tokens)
        places = [entity for entity in self._entities if entity["kind"] == "location"]
        masks = [token for token in self._tokens if token.is_mask]
        return (
            bool(places) and len(masks) == 1 and not self._list_plain_words() and not self._has_cue(_COMPARING_CONCEPTS)
        )

    def _find_subjects(self, classified: Reading) -> list[str]:
        if classified.kind not in _NAMING_KINDS and classified.form not in ("comparison", "unused"):
            return self._finder.marked_names
        has_ends = classified.form == "comparison" or classified.kind == "path"
        return self._finder.find(2 if has_ends else 1)

    def _is_of_whole(self, subjects: Sequence[str]) -> bool:
        """Whether nothing is named but the repository itself, and no other word says of what."""
        named = [name for name in subjects if name.lower() != self._project.lower()]
        if named or any(entity["kind"] in ("path", "location", "quoted") for entity in self._entities):
            return False
        if self._has_cue(frozenset({"project"})):
            return True
        if any(token.text == "<name>" and not self._is_project(token) for token in self._tokens):
            return False
        return not any(map(self._is_named_part, self._list_plain_tokens()))

    def _is_named_part(self, position: int) -> bool:
        """Whether a plain word is what an overview is of: one of the index, behind a preposition."""
        before = position - 1
        while before > 0 and self._tokens[before].text in _ARTICLES:
            before -= 1
        is_object = before >= 0 and self._tokens[before].text in _PREPOSITIONS
        return is_object and (self._names is None or self._names.has_word(self._tokens[position].source))

    def _choose_intent(self, reading: QuestionReading, confidence: float) -> Intent:
        """Return the intent of a reading: a search by words where it is not sure that a name is to be looked up."""
        by_words: Intent = "understand_module" if reading["form"] == "explanation" else "general"
        intent = _INTENTS[reading["kind"]]
        history = reading.get("history")
        if history is not None:
            has_subject = bool(reading["subjects"]) or self._has_place() or any(map(_is_name_mask, self._tokens))
            if asks_history(reading["kind"], history, self._list_concepts(), has_subject=has_subject):
                return "history"
        if reading["form"] == "comparison" and reading["ends"]:
            return "understand_module"
        if intent in ("general", "understand_module"):
            return by_words if intent == "general" else intent
        if (confidence < _MIN_CONFIDENCE and reading["form"] != "unused") or (
            intent in ABOUT_ONE_NAME and not self._is_of_target(reading, confidence)
        ):
            return by_words
        has_target = bool(reading["subjects"]) or self._has_place()
        if intent == "find_similar" and not has_target and confidence < _SURE_CONFIDENCE:
            return by_words
        return intent

    def _has_place(self) -> bool:
        return any(item["kind"] in ("path", "location", "snippet") for item in self._entities)

    def _is_of_target(self, reading: QuestionReading, confidence: float) -> bool:
        """Whether a question is about something that can be looked up: a name, a place, or the tests of a behaviour."""
        if self._has_place() or reading["form"] == "unused" or self._names_target(reading, confidence):
            return True
        return reading["kind"] == "find_tests" and (self._asks() or self._is_headed_by_tests())

    def _names_target(self, reading: QuestionReading, confidence: float) -> bool:
        """Whether a question is about what it names: plain words are a name only if it says nothing more."""
        subjects = reading["subjects"]
        if self._finder.has_marked(subjects):
            return True
        is_sure = confidence >= _SURE_CONFIDENCE and self._finder.has_object(subjects)
        return bool(subjects) and (is_sure or not self._has_more_words(reading))

    def _asks(self) -> bool:
        """Whether the text is a question by its first word or its sign."""
        first = next((cue.concepts for cue in self._cues), frozenset())
        return any(token.text == "?" for token in self._tokens) or not first.isdisjoint(QUESTION_CONCEPTS | {"list"})

    def _is_headed_by_tests(self) -> bool:
        """Whether the text begins like "tests for": then it is about tests, not about what tests are made with."""
        if len(self._tokens) < 2 or not self._cues or self._cues[0].first > 0:
            return False
        return not _TEST_CONCEPTS.isdisjoint(self._cues[0].concepts) and self._tokens[1].text in _PREPOSITIONS

    def _about_unused(self, reading: QuestionReading) -> Literal["", "name", "list"]:
        """Return whether the question is whether something is unused, or what is; empty if it is neither."""
        asks = reading["form"] == "unused" or (
            reading["form"] == "yes_no" and reading["kind"] in ("impact", "find_usage")
        )
        if not asks or reading["kind"] not in ("find_usage", "impact") or reading["direction"] == "out":
            return ""
        plain = [word for word in self._list_plain_words() if not (self._names and self._names.has_folder(word))]
        if reading["form"] == "unused" and not reading["subjects"] and plain:
            return ""  # about something else that is unused
        if reading["subjects"]:
            return "name"
        return "list" if reading["form"] == "unused" else ""

    def _has_cue(self, concepts: frozenset[str]) -> bool:
        return any(not concepts.isdisjoint(cue.concepts) for cue in self._cues)

    def _list_plain_words(self) -> list[str]:
        """Return the words that neither ask nor are stop words."""
        return [self._tokens[at].source for at in self._list_plain_tokens()]

    def _list_plain_tokens(self) -> list[int]:
        """Return the positions of those words."""
        asking = read_asking(self._cues)
        return [
            at
            for at, token in enumerate(self._tokens)
            if token.is_word and at not in asking and not token.is_stop_word and not self._is_project(token)
        ]

    def _has_more_words(self, reading: QuestionReading, also_asking: Collection[int] = ()) -> bool:
        """Whether the question says more than its names and what it asks, at other positions than some that ask as well."""
        names = " ".join(reading["subjects"]).lower()
        words = (self._tokens[at].source for at in self._list_plain_tokens() if at not in also_asking)
        return any(word.lower().removesuffix("s") not in names for word in words)

    def _without_documents(self, question: str) -> str:
        """Return the question without the words that only ask for documents."""
        for cue in self._cues:
            if not _DOCUMENT_CONCEPTS.isdisjoint(cue.concepts):
                for token in self._tokens[cue.first : cue.last + 1]:
                    question = re.sub(rf"(?<!\w){re.escape(token.source)}(?!\w)", " ", question)
        return question


def _is_name_mask(token: Token) -> bool:
    return token.text in ("<name>", "<option>", "<quote>")


def _make_reading(kind: QuestionKind, form: AnswerForm, subjects: list[str]) -> QuestionReading:
    return QuestionReading(
        kind=kind, relation="", direction="", form=form, subjects=subjects, ends=[], is_of_whole=False
    )


def _is_in_any(text: str, names: Sequence[str]) -> bool:
    return any(text in name for name in names)


def _with_names(entities: Sequence[Entity], names: Sequence[str]) -> list[Entity]:
    """Return the entities with those names before them that they lack; an empty name is none."""
    known = {"", *(entity["text"] for entity in entities)}
    missing = [name for name in dict.fromkeys(names) if name not in known]
    return [*(Entity(kind=_kind_of_name(name), text=name) for name in missing), *entities]


def _kind_of_name(name: str) -> str:
    return "qualified_name" if any(separator in name for separator in (".", "::", "->", "#")) else "identifier"


def _report(text: str, project: str, language: HumanLanguage, is_indexed: IsIndexed | None) -> Analysis:
    """Return what a report is about: its title, what it tells and names, and where its traces ran."""
    report = take_apart(text)
    unknown: list[str] = []
    if language != "en":
        report, unknown = _translate_report(report, language, is_indexed)
    entities = find_entities(text)
    title = _without_project(report.text("title") or report.text("message"), project)
    told = _without_project(report.text("title", "prose") or report.text("message", "trace", "code"), project)
    names = find_entities(report.text("title", "prose"))
    return Analysis(
        human_language=language,
        unknown_words=unknown,
        intent="general",
        reading=QuestionReading(
            kind=NO_KIND, relation="", direction="", form="explanation", subjects=[], ends=[], is_of_whole=False
        ),
        confidence=_LIKELY,
        entities=[entity for entity in entities if entity["kind"] != "snippet"],
        terms=tokenize_query(" ".join([title or told, *names_in(names)]))[:_MAX_TERMS],
        expanded_terms=[],
        about_tests=False,
        symbol_query=False,
        literals=[],
        literal_query=False,
        question=title or told,
        text=told or text,
        similar_to="",
        languages=[],
        roles=[],
        messages=[],
        is_statement=False,
        report=make_report_query(report, entities),
    )


def _translate_report(
    report: Report, language: HumanLanguage, is_indexed: IsIndexed | None
) -> tuple[Report, list[str]]:
    """Translate the prose of a report; return it with the words that were not understood."""
    parts: list[Part] = []
    unknown: list[str] = []
    for part in report.parts:
        if part.kind not in _PROSE:
            parts.append(part)
            continue
        translation = translate_question(part.text, language, is_indexed)
        parts.append(Part(part.kind, translation.text))
        unknown += translation.unknown
    return replace(report, parts=parts), list(dict.fromkeys(unknown))


def meant_terms(analysis: Analysis) -> list[str]:
    """Return the terms whose vector is compared by meaning: near words, which widening adds, only match."""
    return tokenize_query(analysis["text"]) if analysis["report"] else analysis["terms"]


def _without_project(query: str, project: str) -> str:
    """Return the question without the repository's name, unless that is all there is; `black.Mode` keeps it."""
    if not project:
        return query
    shorter = re.sub(rf"(?<![\w.:/-]){re.escape(project)}(?:'s)?(?![\w.:/-])", " ", query, flags=re.IGNORECASE)
    return shorter if any(word.lower() not in STOP_WORDS for word in split_raw_tokens(shorter)) else query
