"""Words and patterns that the repairs of C and C++ share."""

import re
from typing import Final

from coderag.ingestion.parsing.repairs.repair_draft import NESTED_ARGUMENTS, RepairDraft, Span

_RESERVED: Final = (
    rb"(?:attribute|declspec|typeof|extension|asm|inline|forceinline\b|restrict|cdecl|stdcall|fastcall|thiscall|vectorcall"
    rb"|clrcall|based|alignof|unaligned|const|volatile|signed|unsigned|complex|thread|auto_type|interface|super|uuidof|try"
    rb"|except|finally|leave|float\d*|fp16|bf16|half|w64|int\d*|m\d+\w*)(?:__)?\b|(?:builtin|kernel|be|le|u|s)\w*"
)
MACRO: Final = rb"(?:_*[A-Z][A-Z0-9_]{2,}+|__(?!" + _RESERVED + rb")[a-z]\w*+)\b"
"""A word that is a macro by its spelling: ``CORE_EXPORT``, ``__device__``."""

_CAPITALS: Final = re.compile(rb"[A-Z_][A-Z0-9_]{2,}+(?!\w)")
_MIXED: Final = re.compile(rb"Py(?:API_|MODINIT_)[A-Z]++(?!\w)|wx[A-Z]{3}[A-Z0-9_]*+(?!\w)")
_RESERVED_WORD: Final = re.compile(rb"__(?!" + _RESERVED + rb")[a-z]\w*+")

CALL: Final = rb"(?:\s*+" + NESTED_ARGUMENTS + rb")?+"
"""The arguments of a macro, if it has any."""

TYPE_KEYWORDS: Final = (
    rb"void|bool|_Bool|char|short|int|long|float|double|signed|unsigned|auto|wchar_t|char8_t|char16_t|char32_t"
    rb"|struct|union|enum|class|typename|decltype"
)
_DECLARATION_KEYWORDS: Final = (
    rb"static|inline|__inline|__inline__|__forceinline|virtual|explicit|constexpr|consteval|constinit|extern|friend"
    rb"|template|typedef|using|namespace|mutable|thread_local|static_assert|public|protected|private|__declspec"
    rb"|__attribute__|__extension__|alignas|concept"
)
DECLARATION_START: Final = re.compile(
    rb"(?:(?:" + TYPE_KEYWORDS + rb"|" + _DECLARATION_KEYWORDS + rb")\b|~|\[\[|\}|\Z)"
)
"""The beginning of a declaration that no type can precede."""

_SPECIFIER: Final = (
    rb"(?:(?:static|inline|__inline|__inline__|__forceinline|virtual|explicit|constexpr|consteval|constinit|extern"
    rb'|friend|typedef|mutable|thread_local|const|volatile|register|_Noreturn)\b|" *")\s*+'
    rb"|(?:__declspec|__attribute__|alignas)\s*+" + NESTED_ARGUMENTS + rb"\s*+"
    rb"|template\s*+<(?>[^<>;{}]++|<(?>[^<>;{}]++|<[^<>;{}]*+>)*+>)*+>\s*+|\[\[[^\]]*+\]\]\s*+"
)
SPECIFIERS: Final = rb"(?:" + _SPECIFIER + rb")*+"
"""Specifiers, attributes and template parameters before the type of a declaration."""

MACROS_AND_SPECIFIERS: Final = rb"(?:" + _SPECIFIER + rb"|" + MACRO + CALL + rb"\s*+)*"
"""The same with macros among them; may be matched with fewer of them."""

NON_NAMES: Final = frozenset(
    b"void bool _Bool char short int long float double signed unsigned auto wchar_t char8_t char16_t char32_t struct union "
    b"enum class typename decltype static inline virtual explicit constexpr consteval constinit extern friend template "
    b"typedef using namespace mutable thread_local const volatile register return else goto case operator new delete "
    b"noexcept override final requires throw try catch if for while do switch default sizeof asm __asm__ __asm "
    b"__attribute__ __declspec alignas public protected private co_return co_await co_yield break continue".split()
)

TYPE: Final = (
    rb"(?:(?:struct|union|enum|class|typename)\s++)?+(?:::)?[A-Za-z_]\w*+(?:<(?>[^<>;{}]++|<(?>[^<>;{}]++|<[^<>;{}]*+>)*+>)*+>)?+"
    rb"(?:\s*+::\s*+[A-Za-z_]\w*+(?:<(?>[^<>;{}]++|<(?>[^<>;{}]++|<[^<>;{}]*+>)*+>)*+>)?+)*+"
)
"""A named type, perhaps qualified and with template arguments."""

TYPE_AND_NAME: Final = re.compile(
    rb"(?:(const)\s++)?+(" + TYPE + rb")(?:\s*+(?:const\b)?\s*+[*&]++(?:\s*+const\b)?\s*+|\s++(?:const\s++)?+)"
    rb"((?:[A-Za-z_]\w*+(?:<[^<>;{}()]*+>)?+\s*+::\s*+)*+"
    rb"(?:operator\s*+(?:\(\s*\)|\[\s*\]|[^\s\w(\[]{1,3}|\w++)|~?[A-Za-z_]\w*+(?:<[^;{}()]*+>(?=\s*+\())?+))\s*+(?=[;=(\[{,:]|\Z)"
)
"""The type and the name of a declaration that needs no further word before it."""

_CALLING_CONVENTION: Final = re.compile(
    rb"\w*(?:CALL|CALLBACK|WINAPI|APIENTRY|STDMETHOD\w*|CDECL|ENTRY|[A-Z]API|EXPORT\d?|CC|__cdecl)"
)
_EXPORT: Final = re.compile(
    rb"\w*(?:EXPORT|EXTERN|IMPORT|API(?:_|$)|ABI(?:_|$)|ATTR|INLINE|DEPRECATED|NODISCARD|VISIB|HIDDEN|DLL|PUBLIC|INTERNAL"
    rb"|STATIC|CONSTEXPR|MUST_USE|UNUSED|NORETURN|WARN|DECL|INVOKABLE|SLOT|SIGNAL|ALWAYS|FORCE|HOST|DEVICE|GLOBAL)\w*"
)


def find_macros(draft: RepairDraft) -> list[Span]:
    """Find the words that are macros by their spelling; each with its start and end, in order."""
    words = [match.span() for match in _CAPITALS.finditer(draft.view)]
    words += [match.span() for match in _MIXED.finditer(draft.view)]
    if b"__" in draft.view:
        words += [match.span() for match in _RESERVED_WORD.finditer(draft.view)]
    return [(start, end) for start, end in sorted(words) if not draft.is_in_word(start)]


def is_calling_convention(word: bytes) -> bool:
    """Return whether a macro between a type and a name is probably a calling convention."""
    return _CALLING_CONVENTION.fullmatch(word) is not None


def is_export_macro(word: bytes) -> bool:
    """Return whether a macro is probably one for visibility or an attribute, judging by its words."""
    return _EXPORT.fullmatch(word) is not None
