"""Repair of macros inside and behind the heads of functions and behind the names of variables."""

import re
from collections.abc import Sequence
from typing import Final

from coderag.ingestion.parsing.repairs.c_words import (
    CALL,
    MACRO,
    MACROS_AND_SPECIFIERS,
    NON_NAMES,
    SPECIFIERS,
    TYPE,
    is_calling_convention,
    is_export_macro,
)
from coderag.ingestion.parsing.repairs.repair_draft import RepairDraft, Span

_DATA_TYPES: Final = frozenset(b"void bool char short int long float double signed unsigned auto const".split())
_TYPE_WORDS: Final = (_DATA_TYPES - {b"const"}) | frozenset(b"struct union enum class".split())
_TRAILING: Final = re.compile(
    rb"\)(?=\s*+[A-Za-z_&])((?:\s*+(?:&&?|(?:throw|noexcept|requires)\b"
    + CALL
    + rb"|[A-Za-z_]\w*+"
    + CALL
    + rb")){1,8}+)\s*+(?=[;{=]|:(?!:))"
)
_WORD: Final = re.compile(rb"([A-Za-z_]\w*+)(" + CALL + rb")")
_BEFORE_FUNCTION: Final = re.compile(
    CALL + rb"(?=\s*+(?:[A-Za-z_]\w*+\s*+(?:<[^<>;{}()]*+>)?+\s*+::\s*+)*+(~?[A-Za-z_]\w*+|operator\W{1,3})\s*+\()"
)
_BEFORE_END: Final = re.compile(CALL + rb"(?=\s*+(?:[;={,]|__|[A-Z]))")
_BEFORE_PARAMETER: Final = re.compile(
    CALL
    + rb"(?=\s++(?!const\s*+[&*,)]|volatile\b)(?:const\s++)?+"
    + TYPE
    + rb"(?:\s*+[*&]++\s*+(?:const\s++)?+|\s++)[A-Za-z_]\w*+\s*+[,)=\[])"
)
_TYPE_HEAD: Final = re.compile(
    MACROS_AND_SPECIFIERS + rb"(" + TYPE + rb")(?:\s++(?:const|int|long|char|short|double|unsigned|signed))*+([\s*&]*+)"
)
_VARIABLE_HEAD: Final = re.compile(
    SPECIFIERS
    + rb"("
    + TYPE
    + rb")(?:\s++(?:const|int|long|char|short|double)\b)*+(?:\s*+[*&]++\s*+(?:const\s++)?+|\s++)"
    rb"([A-Za-z_]\w*+)(?:\s*+\[[^\]]*+\])*+"
)
_FUNCTION_START: Final = re.compile(rb"(?:[^()]*[\s*&>~:])?~?([A-Za-z_]\w*)\s*\(|[^()]*\boperator\b")
_MACRO: Final = re.compile(MACRO)
_MACRO_CALL: Final = re.compile(SPECIFIERS + MACRO + rb"\s*\(")
_PARENTHESIZED_NAME: Final = re.compile(rb"\(([A-Za-z_]\w*+)\)(?=\s*+\()")
_OPERATOR: Final = re.compile(rb"\boperator\b")
_LAST_WORD: Final = re.compile(rb"\w+(?=[\s*&]*\Z)")
_OPERATORS: Final = NON_NAMES - _DATA_TYPES
_LINKAGE: Final = re.compile(rb'extern\s*+(" *+")(?=\s*+[A-Za-z_])')
_MAX_HEAD_BYTES: Final = 1500
_KEPT: Final = NON_NAMES | {b"mutable", b"volatile", b"try", b"final", b"override"}


def erase_inner_macros(draft: RepairDraft, macros: Sequence[Span]) -> None:
    """Erase macros between the type and the name of a function: ``HRESULT WINAPI run()``."""
    for start, end in macros:
        match = _BEFORE_FUNCTION.match(draft.view, end)
        if match is not None and match[1] not in NON_NAMES and draft.is_visible(start):
            head = draft.read_statement_head(start, _MAX_HEAD_BYTES)
            if head and _is_complete_type(head, bytes(draft.view[start:end])):
                draft.erase(start, match.end())


def unwrap_names(draft: RepairDraft) -> None:
    """Erase the parentheses around the name of a function, and ``"C"`` of a declaration: ``extern "C" int (run)(void);``."""
    for match in _PARENTHESIZED_NAME.finditer(draft.view):
        name_end = match.start(1) - 1
        head = draft.read_statement_head(match.start(), _MAX_HEAD_BYTES)
        last_word = _LAST_WORD.search(head) if head else None
        if match[1] not in NON_NAMES and last_word is not None and last_word[0] not in _OPERATORS:
            draft.erase(name_end, name_end + 1)
            draft.erase(match.end() - 1, match.end())
    for linkage in _LINKAGE.finditer(draft.view):
        draft.erase(*linkage.span(1))


def erase_parameter_macros(draft: RepairDraft, macros: Sequence[Span]) -> None:
    """Erase macros before the type of a parameter: ``void run(OUT Result& result)``."""
    for start, end in macros:
        previous = draft.find_previous(start) if draft.is_visible(start) else -1
        if previous >= 0 and draft.view[previous] in b"(,":
            match = _BEFORE_PARAMETER.match(draft.view, end)
            if match is not None:
                draft.erase(start, match.end())


def erase_trailing_macros(draft: RepairDraft, macros: Sequence[Span]) -> None:
    """Erase macros behind the parameters of a function and behind the name of a variable."""
    for trailing in _TRAILING.finditer(draft.view):
        _erase_trailing(draft, trailing)
    for start, end in macros:
        match = _BEFORE_END.match(draft.view, end)
        if match is not None and draft.is_visible(start) and _is_behind_variable(draft, start):
            draft.erase(start, match.end())


def _is_complete_type(head: bytes, macro: bytes) -> bool:
    """Return whether the text before a macro has a type already, so that the macro is not the type."""
    match = _TYPE_HEAD.fullmatch(head)
    if match is None or match[1] in NON_NAMES - _TYPE_WORDS:
        return False
    return (
        bool(match[2].strip())
        or not _MACRO.fullmatch(match[1])
        or (is_calling_convention(macro) and not is_export_macro(match[1]))
    )


def _erase_trailing(draft: RepairDraft, match: re.Match[bytes]) -> None:
    words = list(_WORD.finditer(draft.view, *match.span(1)))
    macros = [word for word in words if word[1] not in _KEPT]
    if not macros or any(word[1] in _TYPE_WORDS for word in words):
        return  # nothing to erase, or the parameters of a function of K&R C
    head = draft.read_statement_head(match.start(), _MAX_HEAD_BYTES)
    start = _FUNCTION_START.match(head) if head else None
    is_operator = head is not None and _OPERATOR.search(head) is not None
    if head is None or start is None or (start[1] in NON_NAMES and not is_operator) or _MACRO_CALL.match(head):
        return
    plain = [word for word in macros if not _MACRO.fullmatch(word[1])]
    if plain and (len(macros) > 1 or not re.match(rb"[^()]*[\w>*&]\s*[\s*&][\w:~]+\s*\(", head)):
        return
    for word in macros:
        draft.erase(*word.span())


def _is_behind_variable(draft: RepairDraft, offset: int) -> bool:
    """Return whether the text before an offset is a complete declaration of a variable."""
    head = draft.read_statement_head(offset, _MAX_HEAD_BYTES)
    variable = _VARIABLE_HEAD.fullmatch(head) if head else None
    if variable is None or variable[2] in NON_NAMES or variable[1] in NON_NAMES - _TYPE_WORDS:
        return False
    return not _MACRO.fullmatch(variable[2]) and variable[1] not in (b"struct", b"union", b"enum", b"class")
