"""Repair of conditional compilation that cuts through a declaration or a statement.

A grammar parses both branches of ``#if`` one after the other, so a brace that each of them opens is never closed. One branch
stays; its alternatives and the directives become spaces. Macros that an alternative defines stay, too, and so do functions of
other names, as prototypes.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from coderag.ingestion.parsing.repairs.c_mask import Directive
from coderag.ingestion.parsing.repairs.c_words import NON_NAMES
from coderag.ingestion.parsing.repairs.repair_draft import RepairDraft, is_inside

_MAX_ALTERNATIVE_BYTES: Final = 4000
_MAX_HEAD_BYTES: Final = 2000
_NOT_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"(){}")
_NEVER: Final = re.compile(rb"\(?\s*(?:0|false|FALSE)\s*\)?\s*(?:$|/[/*])")
_LINKAGE: Final = re.compile(rb'\s*extern\s*" "\s*\{\s*')
_MACRO_STATEMENT: Final = re.compile(rb"[A-Z_][A-Z0-9_]*\s*(?:\(.*\))?", re.DOTALL)
_CONTROL: Final = re.compile(rb"(?:if|else|while|for|switch)\b")
_FUNCTION_HEAD: Final = re.compile(rb"(?!(?:else|return|class|struct|union|enum|namespace)\b)[^(){}=]*?(\w+)\s*\(")
_HEAD_END: Final = re.compile(rb"[:,{=]|const\b|noexcept\b|override\b|final\b")


@dataclass(frozen=True, slots=True)
class Conditional:
    """``#if`` to ``#endif``: the directives of its branches, in order, and its last one."""

    branches: Sequence[Directive]
    end: Directive

    @property
    def start(self) -> int:
        """Offset of its first directive."""
        return self.branches[0].start

    def list_texts(self) -> list[tuple[int, int]]:
        """Return the byte range of each branch, without directives."""
        ends = [*(branch.start for branch in self.branches[1:]), self.end.start]
        return [(branch.end, end) for branch, end in zip(self.branches, ends, strict=True)]


class ConditionalRepair:
    """Repairs the conditional compilation of one file.

    Args:
        directives: All directives of the file, in order.
    """

    def __init__(self, draft: RepairDraft, directives: Sequence[Directive]) -> None:
        self._draft = draft
        self._conditionals = _list_conditionals(directives)
        self._definitions = [directive for directive in directives if directive.word == "define"]
        self._definition_starts = [definition.start for definition in self._definitions]

    def join_unbalanced_branches(self) -> None:
        """Keep one branch of each conditional that opens brackets it does not close, or the reverse, or divides a statement."""
        unbalanced = [
            conditional
            for conditional in self._conditionals
            if not self._is_balanced(conditional) or self._is_dividing_statement(conditional)
        ]
        self._erase_linkages(sorted(unbalanced, key=lambda conditional: conditional.start))
        for conditional in unbalanced:  # the outer ones may be balanced by now
            if not self._is_erased(conditional) and (
                not self._is_balanced(conditional) or self._is_dividing_statement(conditional)
            ):
                self._keep_branch(conditional)

    def join_divided_heads(self, bodies: Sequence[tuple[int, int]]) -> None:
        """Keep one branch of each conditional that begins or ends inside the head of a declaration.

        Args:
            bodies: Ranges of code in which nothing is declared, in order.
        """
        for conditional in self._conditionals:
            is_visible = not is_inside(conditional.start, bodies) and not self._is_erased(conditional)
            if is_visible and self._is_divided(conditional):
                self._keep_branch(conditional)

    def _erase_linkages(self, conditionals: Sequence[Conditional]) -> None:
        """Erase ``extern "C" {`` and its brace where they are conditional."""
        open_linkages = 0
        for conditional in conditionals:
            if b"__cplusplus" not in conditional.branches[0].condition or len(conditional.branches) > 1:
                continue
            start, end = conditional.list_texts()[0]
            text = bytes(self._draft.view[start:end])
            is_opening = _LINKAGE.fullmatch(text) is not None
            if is_opening or (open_linkages and text.strip() == b"}"):
                open_linkages += 1 if is_opening else -1
                self._draft.erase(conditional.start, conditional.end.end)

    def _is_balanced(self, conditional: Conditional) -> bool:
        return all(_are_brackets_balanced(self._draft.view[start:end]) for start, end in conditional.list_texts())

    def _is_dividing_statement(self, conditional: Conditional) -> bool:
        """Return whether a branch begins with ``else``, or ends before the body of a statement."""
        start, end = conditional.list_texts()[0]
        first, last = self._draft.find_next(start), self._draft.find_previous(end)
        if first >= last:
            return False
        opening = _CONTROL.match(self._draft.view, first)
        return (opening is not None and (opening[0] == b"else" or self._draft.view[last : last + 1] == b")")) or bytes(
            self._draft.view[max(first, last - 4) : last + 1]
        ) in (b"else", b"}else")

    def _is_erased(self, conditional: Conditional) -> bool:
        directive = conditional.branches[0]
        return not self._draft.code[directive.start : directive.end].strip()

    def _keep_branch(self, conditional: Conditional) -> None:
        branches, texts = conditional.branches, conditional.list_texts()
        chosen = next((index for index, branch in enumerate(branches) if not _NEVER.match(branch.condition)), 0)
        alternatives = [text for index, text in enumerate(texts) if index != chosen]
        if sum(end - start for start, end in alternatives) > _MAX_ALTERNATIVE_BYTES:
            return
        functions = [self._find_open_function(start, end) for start, end in texts]
        for directive in (*branches, conditional.end):
            self._draft.erase(directive.start, directive.end)
        names = {name for name, _ in functions}
        if len(names) > 1 and b"" not in names:
            for function, directive in zip(functions[:-1], branches[1:], strict=True):
                self._close_prototype(function, directive)
        else:
            for start, end in alternatives:
                self._erase_code(start, end)

    def _find_open_function(self, start: int, end: int) -> tuple[bytes, int]:
        """Find the function whose head ends a branch.

        Returns:
            Its name and the offset of its brace, or the end of the branch if the brace is outside; an empty name without one.
        """
        last = self._draft.find_previous(end)
        if last < start or self._draft.view[last] not in b"{)":
            return b"", end
        brace = last if self._draft.view[last] in b"{" else end
        text = bytes(self._draft.view[start:brace])
        match = _FUNCTION_HEAD.match(text[max(text.rfind(byte) for byte in (b";", b"{", b"}")) + 1 :].strip())
        return (match[1], brace) if match is not None and match[1] not in NON_NAMES else (b"", end)

    def _close_prototype(self, function: tuple[bytes, int], directive: Directive) -> None:
        """End the head of a function with a semicolon: in place of its brace, or of the directive below it."""
        offset = min(function[1], directive.start)
        self._draft.replace(offset, offset + 1, b";")

    def _erase_code(self, start: int, end: int) -> None:
        """Erase a range without the macros that it defines."""
        first, last = bisect_left(self._definition_starts, start), bisect_left(self._definition_starts, end)
        for definition in self._definitions[first:last]:
            self._draft.erase(start, definition.start)
            start = definition.end
        self._draft.erase(start, end)

    def _is_divided(self, conditional: Conditional) -> bool:
        """Return whether a conditional begins or ends inside the head of a declaration."""
        draft, texts = self._draft, conditional.list_texts()
        start, end = texts[0]
        first = draft.find_next(start)
        if first >= texts[-1][1]:
            return False  # nothing is left of it
        head = draft.read_statement_head(conditional.start, _MAX_HEAD_BYTES)
        if head is None:
            return False
        if head:
            return not _MACRO_STATEMENT.fullmatch(head) or _HEAD_END.match(draft.view, first) is not None
        last = draft.find_previous(end)
        if last < start:
            return False
        following = draft.find_next(conditional.end.end)
        ending, next_byte = bytes(draft.view[last : last + 1]), bytes(draft.view[following : following + 1])
        if ending == b")":
            return next_byte in (b"{", b":")
        return ending in b",(=>&*" or (next_byte == b"{" and ending not in b";}{:")


def _list_conditionals(directives: Sequence[Directive]) -> list[Conditional]:
    """Return the complete conditionals of a file, inner before outer."""
    conditionals = []
    stack: list[list[Directive]] = []
    for directive in directives:
        if directive.word == "if":
            stack.append([directive])
        elif stack and directive.word == "endif":
            conditionals.append(Conditional(stack.pop(), directive))
        elif stack and directive.word in ("elif", "else"):
            stack[-1].append(directive)
    return conditionals


def _are_brackets_balanced(text: bytes | bytearray) -> bool:
    braces = parentheses = 0
    for byte in text.translate(None, _NOT_BRACKETS):
        if byte in b"{}":
            braces += 1 if byte in b"{" else -1
        else:
            parentheses += 1 if byte in b"(" else -1
        if braces < 0 or parentheses < 0:
            return False
    return braces == parentheses == 0
