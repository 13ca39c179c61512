"""Repair of macros before a declaration: specifiers such as ``CORE_API``, and statements without a semicolon.

``Q_OBJECT``, ``GENERATED_BODY()`` or ``FMT_BEGIN_NAMESPACE`` stand on lines of their own. Unrepaired, they would be parsed
together with the declaration below.
"""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Final

from coderag.ingestion.parsing.repairs.c_mask import Bodies
from coderag.ingestion.parsing.repairs.c_words import (
    DECLARATION_START,
    MACRO,
    MACROS_AND_SPECIFIERS,
    NON_NAMES,
    TYPE_AND_NAME,
    TYPE_KEYWORDS,
    is_export_macro,
)
from coderag.ingestion.parsing.repairs.repair_draft import NESTED_ARGUMENTS, RepairDraft, Span, is_inside

_CALL_BEFORE_WORD: Final = re.compile(rb"(\s*+" + NESTED_ARGUMENTS + rb")?+(?=\s*+(?:\[\[|[\w~:}]|\Z))")
_STATEMENT_END: Final = re.compile(rb"\s*+" + NESTED_ARGUMENTS + rb"\s*+;")
_EXPRESSIONS: Final = re.compile(
    rb"\s*+\((?:\s*+(?:&?[\w:.]++|\"[ ]*+\"|'[ ]*+')\s*+,)*+\s*+(?:&?[\w:.]++|\"[ ]*+\"|'[ ]*+')\s*+\)"
)
_TYPE_STATEMENT: Final = re.compile(
    rb"(?<!\w)[A-Z][A-Z0-9]*+_\w++\s*+(?=\([^;{}()]*[\w>]\s*+[*&]++\s*+[,)])" + NESTED_ARGUMENTS + rb"\s*+;"
)
_KEYWORD: Final = re.compile(rb"(?<!\w)(?:" + TYPE_KEYWORDS + rb")\b")
_MEMBER: Final = b"T _="
_HEAD: Final = re.compile(MACROS_AND_SPECIFIERS)
_MAX_HEAD_BYTES: Final = 4000  # macros in many lines one below the other
_BRACKET: Final = re.compile(rb"BEGIN|END|NAMESPACE|DECLS|NS_|ENTER|LEAVE")
_OBJECT_STATEMENT: Final = re.compile(rb"Q_(?:OBJECT|GADGET|NAMESPACE)\w*|W_OBJECT|GENERATED_\w+|[A-Z_]*BOILERPLATE\w*")
_CONSTRUCTOR: Final = re.compile(rb"(?:\w+::)*(\w+)(?:<[^<>;{}()]*>)?::~?\1\s*\(")
_CALLABLE: Final = re.compile(rb"((?:\w+\s*::\s*)*~?\w+)\s*\(")
_TYPE_ARGUMENT: Final = re.compile(rb"\(\s*(?:const\s+)?[A-Za-z_][\w:]*(?:\s+\w+)?(?:<[^()]*>)?[\s*&]*\)")
_MACRO: Final = re.compile(MACRO)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A macro, its arguments with their parentheses, and its range with them."""

    word: bytes
    arguments: bytes
    start: int
    end: int


def replace_member_macros(draft: RepairDraft, macros: Sequence[Span], bodies: Bodies) -> None:
    """Replace statements of macros in the bodies of types, which would be parsed as the declaration of a method.

    One whose arguments are expressions becomes the value of a member in its indentation, so that it is parsed as a call:
    ``METHOD_ADD(Users::list, "/");``. Others are erased.
    """
    for start, end in macros:
        statement = _STATEMENT_END.match(draft.view, end)
        if statement is None or not draft.is_visible(start) or not is_inside(start, bodies.types):
            continue
        if bytes(draft.view[start:end]) in bodies.type_names or draft.read_statement_head(start, 0) is None:
            continue
        indentation = start - len(_MEMBER)
        has_space = indentation >= 0 and not draft.code[indentation:start].strip(b" ")
        if has_space and _EXPRESSIONS.match(draft.view, end) and not _KEYWORD.search(draft.view, end, statement.end()):
            draft.replace(indentation, start, _MEMBER)
        else:
            draft.erase(start, statement.end())


def erase_type_statements(draft: RepairDraft) -> None:
    """Erase statements of macros with a pointer type as argument, which would be parsed as the declaration of a function."""
    for statement in _TYPE_STATEMENT.finditer(draft.view):
        if draft.read_statement_head(statement.start(), 0) is not None:
            draft.erase(*statement.span())


def erase_leading_macros(draft: RepairDraft, macros: Sequence[Span], type_names: Set[bytes]) -> None:
    """Erase macros at the beginning of declarations, and those that are statements without a semicolon."""
    for start, end in reversed(macros):  # what follows a macro is clear by then
        call = _CALL_BEFORE_WORD.match(draft.view, end)
        if call is not None and draft.is_visible(start):
            candidate = _Candidate(bytes(draft.view[start:end]), call[1] or b"", start, call.end())
            if _is_leading(draft, candidate, type_names):
                draft.erase(start, call.end())
            elif _has_type_argument(draft, candidate):
                draft.erase(start, draft.view.find(b"(", end) + 1)
                draft.erase(call.end() - 1, call.end())


def _is_leading(draft: RepairDraft, candidate: _Candidate, type_names: Set[bytes]) -> bool:
    following = draft.find_next(candidate.end)
    if following < len(draft.view) and not _is_word_start(draft.view, following):
        return False  # a call, a type, a declarator or the definition of a function by a macro
    if not (_can_precede_statement if candidate.arguments else _can_precede_declaration)(
        draft, candidate, following, type_names
    ):
        return False
    head = draft.read_statement_head(candidate.start, _MAX_HEAD_BYTES)
    return head is not None and _HEAD.fullmatch(head) is not None


def _has_type_argument(draft: RepairDraft, candidate: _Candidate) -> bool:
    """Return whether the argument of a macro is the type of a function: ``PyAPI_FUNC(int) run(void)``."""
    if not _TYPE_ARGUMENT.fullmatch(candidate.arguments.strip()):
        return False
    called = _CALLABLE.match(draft.view, draft.find_next(candidate.end))
    if called is None or called[1] in NON_NAMES or _MACRO.fullmatch(called[1]):
        return False
    head = draft.read_statement_head(candidate.start, _MAX_HEAD_BYTES)
    return head is not None and _HEAD.fullmatch(head) is not None


def _is_word_start(view: bytearray, offset: int) -> bool:
    byte = bytes(view[offset : offset + 1])
    return byte.isalpha() or byte in (b"_", b"~", b"}") or bytes(view[offset : offset + 2]) in (b"::", b"[[")


def _can_precede_declaration(draft: RepairDraft, candidate: _Candidate, following: int, type_names: Set[bytes]) -> bool:
    """Return whether a macro without arguments is none of the words that the declaration after it needs."""
    word = candidate.word
    if DECLARATION_START.match(draft.view, following):
        return True
    declaration = TYPE_AND_NAME.match(draft.view, following)
    if declaration is not None:
        type_name = declaration[2]
        if declaration[3] in NON_NAMES or type_name in NON_NAMES:
            return bool(declaration[1])
        return not _MACRO.fullmatch(type_name) or is_export_macro(word)
    between = draft.view[candidate.end : following]
    if between.count(b"\n") == 0:
        return False
    called = _CALLABLE.match(draft.view, following)
    return (
        _OBJECT_STATEMENT.fullmatch(word) is not None
        or _BRACKET.search(word) is not None
        or _is_blank_line(draft, candidate.end)
        or _CONSTRUCTOR.match(draft.view, following) is not None
        or (called is not None and called[1].lstrip(b"~") in type_names)
    )


def _is_blank_line(draft: RepairDraft, offset: int) -> bool:
    """Return whether the line below the one that ends after an offset is empty in the text of the file."""
    line_end = draft.code.find(b"\n", offset)
    next_end = draft.code.find(b"\n", line_end + 1)
    return line_end >= 0 and next_end >= 0 and not draft.code[line_end:next_end].strip()


def _can_precede_statement(draft: RepairDraft, candidate: _Candidate, following: int, type_names: Set[bytes]) -> bool:
    """Return whether a macro with arguments is an attribute or a statement rather than a type or a function."""
    if following == len(draft.view):
        return not _EXPRESSIONS.fullmatch(candidate.arguments)  # or else it is parsed as a call
    if DECLARATION_START.match(draft.view, following):
        return True
    is_type = _TYPE_ARGUMENT.fullmatch(candidate.arguments.strip()) is not None
    called = _CALLABLE.match(draft.view, following)
    if is_type and called is not None:
        is_followed_by_macro = (
            _MACRO.fullmatch(called[1]) is not None and b"\n" in draft.view[candidate.end : following]
        )
        return is_followed_by_macro or called[1].lstrip(b"~") in type_names
    declaration = TYPE_AND_NAME.match(draft.view, following)
    if declaration is not None:
        return bool(declaration[1]) or declaration[2] not in NON_NAMES
    if is_type and TYPE_AND_NAME.match(b"int " + bytes(draft.view[following : following + 200])):
        return False
    return b"\n" in draft.view[candidate.end : following]
