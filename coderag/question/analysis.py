"""Understand a question without a language model: its intent, what it names, and its terms."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from coderag.question.entities import find_entities, names_in
from coderag.question.hints import find_languages, find_roles
from coderag.question.human_language import detect_language
from coderag.question.intent_patterns import (
    ABOUT_ONE_NAME,
    ABOUT_TESTS,
    ABOUT_UNUSED_CODE,
    ABOUT_UNUSED_NAME,
    INTENT_PATTERNS,
    SYMBOL_QUERY,
)
from coderag.question.literals import find_literals, parse_literal_query
from coderag.question.question_text import check_question
from coderag.question.report_query import make_report_query
from coderag.question.reports import Part, PartKind, Report, is_report, take_apart
from coderag.question.translation import IsIndexed, Translation, translate_question
from coderag.schema.query import Analysis, Entity
from coderag.schema.vocabulary import HumanLanguage, Intent
from coderag.text.tokenizer import STOP_WORDS, split_raw_tokens, tokenize_query

_MAX_TERMS = 400
_NEVER_NAMES = STOP_WORDS - {"after", "before", "each", "show", "then", "use"}
"""Words that no question means as a name unless it marks them; the others are usual names of functions."""

_ABOUT_DOCUMENTS = re.compile(r"\b(?:docs?|documentation|documented|says?)\b", re.IGNORECASE)
_PROSE: tuple[PartKind, ...] = ("title", "prose", "steps")  # parts of a report in its human language
_CERTAIN, _LIKELY, _DEFAULT = 1.0, 0.9, 0.5

_MAX_SYMBOL_QUERY_CHARS = 500
"""The pattern of a name takes a time that is quadratic in its length."""


def analyze(query: str, project: str = "", is_indexed: IsIndexed | None = None) -> Analysis:
    """Return what a question asks for, in English whatever its language.

    Args:
        query: The question as asked.
        project: Name of the repository: as a word of a question it does not say where in the repository to look.
        is_indexed: Whether the index has a term, to choose among the English words of another language's word.

    Raises:
        InvalidQueryError: The question is empty or longer than `MAX_QUERY_BYTES`.
    """
    check_question(query)
    language = detect_language(query)
    if is_report(query):
        return _report(query, project, language, is_indexed)
    if language == "en":
        return _analyze_wording(query, project)
    translation = translate_question(query, language, is_indexed)
    return _analyze_wording(translation.wording, project, translation)


def _analyze_wording(query: str, project: str, translation: Translation | None = None) -> Analysis:
    """Return what an English question asks for, or the English wording of a translation."""
    entities = find_entities(query)
    symbol_query = len(query) <= _MAX_SYMBOL_QUERY_CHARS and bool(SYMBOL_QUERY.match(query.strip()))
    is_place = any(entity["kind"] in ("location", "snippet") for entity in entities)
    literal = "" if is_place else parse_literal_query(query)
    intent, confidence, name, other = _intent(query.strip(), entities, symbol_query=symbol_query)
    question = translation.text if translation else query
    question = question if symbol_query else _without_project(question, project)
    if intent == "documentation":
        question = _ABOUT_DOCUMENTS.sub(" ", question)
    if not name and not entities and query.isascii() and query.strip().isidentifier():
        name = query.strip()  # one bare word may be a name as well, whatever else it means
    about_one = bool(name) and intent in ABOUT_ONE_NAME
    if about_one:  # the name's parts say nothing more
        entities = [entity for entity in entities if entity["text"] == name or entity["text"] not in name]
        question = query if translation else question
    return Analysis(
        human_language=translation.language if translation else "en",
        wording=query,
        unknown_words=list(translation.unknown) if translation else [],
        intent=intent,
        confidence=confidence,
        entities=_with_names(entities, (name, other)),
        terms=tokenize_query(name if about_one else question)[:_MAX_TERMS],
        expanded_terms=list(translation.expanded_terms) if translation and not about_one else [],
        about_tests=intent == "find_tests" or bool(ABOUT_TESTS.search(query)),
        symbol_query=symbol_query,
        literals=[literal] if literal else [] if is_place else find_literals(question),
        literal_query=bool(literal),
        question=question,
        text=question,
        similar_to="",
        about_unused=_about_unused(query.strip()),
        languages=find_languages(query),
        roles=find_roles(query) if intent != "documentation" else [],
        report=None,
    )


def _about_unused(query: str) -> Literal["", "name", "list"]:
    """Return whether a question is whether something is unused, or what is; empty if it is neither."""
    if any(pattern.search(query) for pattern in ABOUT_UNUSED_NAME):
        return "name"
    return "list" if any(pattern.search(query) for pattern in ABOUT_UNUSED_CODE) else ""


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
        wording=text,
        unknown_words=unknown,
        intent="general",
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


def _intent(query: str, entities: list[Entity], *, symbol_query: bool) -> tuple[Intent, float, str, str]:
    """Return the intent, how sure it is, and the one or two names the question is about (empty if it is about none)."""
    if symbol_query:
        return "find_definition", _CERTAIN, query.strip("`'\"").removesuffix("()"), ""
    if any(entity["kind"] == "snippet" for entity in entities):
        return "find_similar", _LIKELY, "", ""
    for intent, confidence, pattern in INTENT_PATTERNS:
        if match := pattern.search(query):
            name = match.groupdict().get("name") or ""
            if name and not _is_marked(query, match) and not _may_be_name(name, split_raw_tokens(query[match.end() :])):
                name = ""
            return intent, confidence, name, match.groupdict().get("other") or ""
    return "general", _DEFAULT, "", ""


def _is_marked(query: str, match: re.Match[str]) -> bool:
    """Whether the name that a pattern found is written as code: quoted, or with parentheses."""
    return query[: match.start("name")].endswith(("`", "'", '"')) or query[match.end("name") :].startswith("()")


def _may_be_name(name: str, more_words: Sequence[str]) -> bool:
    """Whether a word is not just one of the question: "what tests file size limits" is not about a declaration ``file``."""
    return not name.islower() or (name not in _NEVER_NAMES and not (more_words and name.isalpha()))
