"""Grounding of statements: lookup of their names, places, quotations and numbers in snippets."""

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import Final

from coderag.answering.generated.quantities import find_unsupported_number
from coderag.answering.generated.statements import FileReference, Statement, parse_file_reference
from coderag.schema.answers import Citation
from coderag.schema.chunks import get_module_name
from coderag.stores.snippets import Snippet

_WORD = re.compile(r"[^\W\d]\w*|\d\w*(?:\.\d+)*")
_QUALIFIER = re.compile(r"([^\W\d]\w*)(?:\(\))?(?=\.|::|->|#)")
_COMMENT_SIGNS = re.compile(r"^[ \t]*(?:#+|//+[!/]?|\*+/?|/\*+|--|;+|%+|>)[ \t]?", re.MULTILINE)
_ELLIPSIS = re.compile(r"\s*(?:\.{3}|…)\s*")
_IGNORED_SIGNS = re.compile(r"[\"'`“”‘’*_]")
_PATH_WITH_LINES = re.compile(r"(.+):L?(\d+)(?:[-–]L?(\d+))?")
_CONSTANTS: Final = frozenset(("None", "null", "nil", "undefined", "True", "False", "true", "false", "self", "this"))
"""Constants that code may imply without naming them."""


class Grounding:
    """Terms of some snippets.

    Args:
        snippets: Snippets.
        paths: Paths of all indexed files.
        citations: Current locations of their lines, if checked.
    """

    def __init__(self, snippets: Sequence[Snippet], paths: Sequence[str], citations: Sequence[Citation] = ()) -> None:
        self._snippets = snippets
        self._paths = paths
        self._citations = citations

    def find_unsupported(self, statement: Statement) -> str:
        """Describe the first part of a statement that is not in the snippets; empty if all are."""
        if name := self.find_unsupported_name(statement):
            return name
        for address in statement.addresses:
            if address not in self._code:
                return f"the address {address}"
        for quotation in statement.quotations:
            if not self._is_quoted(quotation):
                return f"the quotation “{quotation}”"
        number = find_unsupported_number(statement.prose, self._code)
        return number and f"the number {number}"

    def find_unsupported_name(self, statement: Statement) -> str:
        """Describe the first code name or place that is not in the snippets; empty if all are."""
        for reference in statement.file_references:
            if self._is_file_reference(reference) and not self._contains_reference(reference):
                return f"the place `{reference.path}{f':{reference.first}' if reference.first else ''}`"
        for code in (*statement.code, *statement.names):
            if not self._contains_code(code):
                return f"`{code}`"
        return ""

    def _contains_code(self, code: str) -> bool:
        reference = parse_file_reference(code)
        if code in _CONSTANTS or (reference and self._is_file_reference(reference)) or self._is_unusual_path(code):
            return True
        edges = ("(?<!\\w)" if code[:1].isidentifier() else "", "(?!\\w)" if code[-1:].isidentifier() else "")
        if re.search(edges[0] + r"\s*".join(map(re.escape, code.split())) + edges[1], self._code):
            return True
        if code.startswith("--"):
            return code.strip("-").replace("-", "_") in self._words
        words = _WORD.findall(code) or [code]
        qualifiers = {_fold_name(name) for name in _QUALIFIER.findall(code)} & self._folded_words
        return (
            all(word in self._words or word in _CONSTANTS or _fold_name(word) in qualifiers for word in words)
            or code.replace("-", "_") in self._words
        )

    def _contains_reference(self, reference: FileReference) -> bool:
        for snippet in self._snippets:
            if _matches_path(reference.path, snippet.path):
                spans = [(snippet.start_line, snippet.end_line)]
                spans += [
                    (citation.start_line, citation.end_line)
                    for citation in self._citations
                    if citation.path == snippet.path
                ]
                if not reference.first or any(
                    first <= reference.last and reference.first <= last for first, last in spans
                ):
                    return True
        if reference.first:
            return False
        if reference.path in self._code:
            return True
        return self._is_indexed(reference) and self._words.issuperset(_WORD.findall(get_module_name(reference.path)))

    def _is_unusual_path(self, code: str) -> bool:
        """Return whether code is a path of unusual form, such as with blanks, whose lines are in the snippets."""
        match = _PATH_WITH_LINES.fullmatch(code)
        reference = (
            FileReference(match[1], int(match[2]), int(match[3] or match[2])) if match else FileReference(code, 0, 0)
        )
        is_snippet_path = any(_matches_path(reference.path, snippet.path) for snippet in self._snippets)
        return is_snippet_path and self._contains_reference(reference)

    def _is_file_reference(self, reference: FileReference) -> bool:
        """Return whether a reference is a file rather than a dotted name."""
        return bool(reference.first) or "/" in reference.path or self._is_indexed(reference)

    def _is_indexed(self, reference: FileReference) -> bool:
        return any(_matches_path(reference.path, path) for path in self._paths)

    def _is_quoted(self, quotation: str) -> bool:
        parts = (_normalize(part).strip(" .,;:!?。、，") for part in _ELLIPSIS.split(quotation))
        return all(part in self._normalized_code for part in parts)

    @cached_property
    def _code(self) -> str:
        return "\n".join(snippet.text for snippet in self._snippets)

    @cached_property
    def _normalized_code(self) -> str:
        return _normalize(_COMMENT_SIGNS.sub("", self._code))

    @cached_property
    def _words(self) -> frozenset[str]:
        names = chain.from_iterable(
            (snippet.name, snippet.path, snippet.related_to, snippet.language) for snippet in self._snippets
        )
        return frozenset(_WORD.findall(self._code)) | frozenset(chain.from_iterable(map(_WORD.findall, names)))

    @cached_property
    def _folded_words(self) -> frozenset[str]:
        return frozenset(map(_fold_name, self._words))


def _matches_path(name: str, path: str) -> bool:
    """Return whether a name is a path or its end; in prose, only the part after a path's last blank is recognized."""
    return path == name or path.endswith((f"/{name}", f" {name}"))


def _fold_name(name: str) -> str:
    return name.replace("_", "").lower()


def _normalize(text: str) -> str:
    return " ".join(_IGNORED_SIGNS.sub("", text).split()).casefold()
