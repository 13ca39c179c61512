"""What names, chains and types mean in a program: one set of steps for all languages, which differ in their rules.

Each part answers one kind of question and asks the others through `Resolver`: bare names (scopes.py), types and what is above
them (hierarchy.py), members (members.py), values and types as written (values.py), chains (chains.py).

An answer never depends on what was asked before, see `coderag.codegraph.linking.answers`. Nor does it depend on which file is
being linked: only `evaluate` and `lookup` know local names.
"""

from collections.abc import Callable, Hashable

from coderag.codegraph.linking.answers import Answers, Kept
from coderag.codegraph.linking.chains import Chains
from coderag.codegraph.linking.hierarchy import Hierarchy
from coderag.codegraph.linking.locals import Locals
from coderag.codegraph.linking.meanings import TYPES, Meaning
from coderag.codegraph.linking.members import Members
from coderag.codegraph.linking.program import Interface, Program
from coderag.codegraph.linking.rules.base import Rules
from coderag.codegraph.linking.scopes import Scopes
from coderag.codegraph.linking.values import Values
from coderag.schema.facts import Definition, FileFacts


class Resolver:
    """Answers what names mean.

    Args:
        program: All files.
        rules: Of each language, by its name.

    Attributes:
        program: All files.
        locals: Of the file that is being linked.
    """

    def __init__(self, program: Program, rules: Callable[[str], Rules]) -> None:
        self.program = program
        self._rules = [rules(row.language) for row in program.rows]
        self.rules_of = self._rules.__getitem__
        """Returns the rules of a file's language."""
        self._no_locals = Locals(-1, (), Interface(FileFacts("")), Rules(program))
        self.locals = self._no_locals
        self._answers = Answers(program)
        self._kept: Kept = {}
        scopes = Scopes(self)
        self.lookup = scopes.lookup
        self.global_name = scopes.global_name
        self.in_scope = scopes.in_scope
        self.from_stars = scopes.from_stars
        self.declared_in = scopes.declared_in
        self.exported = scopes.exported
        hierarchy = Hierarchy(self)
        self.own_type = hierarchy.own_type
        self.above = hierarchy.above
        self.named = hierarchy.named
        self.bases = hierarchy.bases
        self.ancestors = hierarchy.ancestors
        self.descendants = hierarchy.descendants
        members = Members(self)
        self.member = members.member
        self.member_of_type = members.member_of_type
        self.own_member = members.own_member
        values = Values(self)
        self.value = values.value
        self.bound = values.bound
        self.first_known = values.first_known
        self.called = values.called
        self.called_method = values.called_method
        self.instance = values.instance
        self.aliased = values.aliased
        chains = Chains(self)
        self.referred = chains.referred
        self.evaluate = chains.evaluate

    def let_go(self) -> None:
        """Forget everything: its parts refer back to it and rules to themselves, so the collector would have to find them."""
        for rules in set(self._rules):
            vars(rules).clear()
        vars(self).clear()

    def definition(self, meaning: Meaning) -> Definition:
        """Return the definition that is meant, or whose instance is."""
        return self.program.definition(meaning.file, meaning.index)

    def is_type(self, meaning: Meaning) -> bool:
        """Return whether a type itself is meant."""
        return meaning.kind == "definition" and self.program.definition(meaning.file, meaning.index).kind in TYPES

    @property
    def is_asked(self) -> bool:
        """Whether a question waits for an answer."""
        return bool(self._answers.waiting)

    def once(self, key: Hashable, ask: Callable[[], Meaning | None], *, is_local: bool = False) -> Meaning | None:
        """Return a kept answer, or ask and keep it.

        Args:
            is_local: Whether it may depend on local names; it is then kept as long as these are known.
        """
        kept = self.locals.kept if is_local else self._kept
        if (known := kept.get(key)) is not None:
            return self._answers.known(known)
        outer_locals = self.locals
        if not is_local:
            self.locals = self._no_locals
        try:
            return self._answers.ask(kept, key, ask)
        finally:
            self.locals = outer_locals
