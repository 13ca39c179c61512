"""Table of languages and their rules."""

from coderag.codegraph.linking.program import Program
from coderag.codegraph.linking.rules.base import LanguageRules
from coderag.codegraph.linking.rules.c_family import CFamilyRules
from coderag.codegraph.linking.rules.csharp import CSharpRules
from coderag.codegraph.linking.rules.ecmascript import EcmaScriptRules
from coderag.codegraph.linking.rules.elixir import ElixirRules
from coderag.codegraph.linking.rules.go import GoRules
from coderag.codegraph.linking.rules.java import JavaRules
from coderag.codegraph.linking.rules.kotlin import KotlinRules
from coderag.codegraph.linking.rules.lua import LuaRules
from coderag.codegraph.linking.rules.php import PhpRules
from coderag.codegraph.linking.rules.plain import PlainRules
from coderag.codegraph.linking.rules.python import PythonRules
from coderag.codegraph.linking.rules.ruby import RubyRules
from coderag.codegraph.linking.rules.rust import RustRules
from coderag.codegraph.linking.rules.scala import ScalaRules
from coderag.codegraph.linking.rules.swift import SwiftRules

_RULE_CLASSES: tuple[type[LanguageRules], ...] = (
    PythonRules,
    GoRules,
    RustRules,
    JavaRules,
    EcmaScriptRules,
    CSharpRules,
    ElixirRules,
    ScalaRules,
    LuaRules,
    KotlinRules,
    SwiftRules,
    CFamilyRules,
    PhpRules,
    RubyRules,
)

FULLY_LINKED_LANGUAGES = frozenset(language for rules in _RULE_CLASSES for language in rules.languages)
"""Languages with resolved imports, types and receivers; names of other languages are linked within a file and its imports."""

BLOCK_SCOPED_LANGUAGES = frozenset(
    language for rules in _RULE_CLASSES if rules.has_block_scope for language in rules.languages
)
"""Languages in which the order of declarations of one name in a file decides."""


class RulesTable:
    """Rules of each language over one program, created on first use.

    Args:
        program: All files.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._rules_by_language: dict[str, LanguageRules] = {}

    def __call__(self, language: str) -> LanguageRules:
        """Return the rules of a language."""
        if language not in self._rules_by_language:
            kind = next((rules for rules in _RULE_CLASSES if language in rules.languages), PlainRules)
            rules = kind(self._program)
            self._rules_by_language.update(dict.fromkeys(kind.languages or (language,), rules))
        return self._rules_by_language[language]
