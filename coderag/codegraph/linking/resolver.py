"""Resolution of names, chains and types: one algorithm for all languages, which differ in their rules.

Each part answers one kind of query and asks the others through `Resolver`: bare names (scopes.py), type names and hierarchies
(hierarchy.py), members (members.py), values and types as written (type_inference.py), chains (chains.py).

Results depend neither on the order of queries, see `coderag.codegraph.linking.query_memo`, nor on the file that is being
linked: only `evaluate` and `resolve_name` see local names.
"""

from collections.abc import Callable, Hashable
from typing import Final

from coderag.codegraph.linking.aging_table import AgingTable
from coderag.codegraph.linking.chains import ChainEvaluator
from coderag.codegraph.linking.hierarchy import Hierarchy
from coderag.codegraph.linking.local_names import LocalNames
from coderag.codegraph.linking.members import MemberLookup
from coderag.codegraph.linking.program import FileInterface, Program
from coderag.codegraph.linking.query_memo import MemoEntry, QueryMemo
from coderag.codegraph.linking.referents import Referent
from coderag.codegraph.linking.rules.base import LanguageRules
from coderag.codegraph.linking.scopes import ScopeLookup
from coderag.codegraph.linking.type_inference import TypeInference
from coderag.schema.facts import Definition, FileFacts

_MAX_MEMOIZED: Final = 150_000  # results, of about half a kilobyte each


class Resolver:
    """Resolves names, chains and types.

    Args:
        program: All files.
        rules: Returns the rules of a language by its name.

    Attributes:
        program: All files.
        local_names: Of the file that is being linked.
    """

    def __init__(self, program: Program, rules: Callable[[str], LanguageRules]) -> None:
        self.program = program
        self._rules_by_file = [rules(row.language) for row in program.rows]
        self.get_rules = self._rules_by_file.__getitem__
        """Return the rules of a file's language."""
        self._no_local_names = LocalNames(-1, (), FileInterface(FileFacts("")), LanguageRules(program))
        self.local_names = self._no_local_names
        self._query_memo = QueryMemo(program)
        self._memo_table: AgingTable[Hashable, MemoEntry] = AgingTable()
        scope_lookup = ScopeLookup(self)
        self.resolve_name = scope_lookup.resolve_name
        self.find_receiver = scope_lookup.find_receiver
        self.resolve_global_name = scope_lookup.resolve_global_name
        self.resolve_in_scope = scope_lookup.resolve_in_scope
        self.resolve_star_imports = scope_lookup.resolve_star_imports
        self.find_scope_declarations = scope_lookup.find_scope_declarations
        self.resolve_export = scope_lookup.resolve_export
        hierarchy = Hierarchy(self)
        self.find_enclosing_type = hierarchy.find_enclosing_type
        self.resolve_super = hierarchy.resolve_super
        self.resolve_dotted_name = hierarchy.resolve_dotted_name
        self.resolve_bases = hierarchy.resolve_bases
        self.find_ancestors = hierarchy.find_ancestors
        self.find_descendants = hierarchy.find_descendants
        member_lookup = MemberLookup(self)
        self.find_member = member_lookup.find_member
        self.find_type_member = member_lookup.find_type_member
        self.find_own_member = member_lookup.find_own_member
        type_inference = TypeInference(self)
        self.infer_value = type_inference.infer_value
        self.infer_binding = type_inference.infer_binding
        self.infer_first_binding = type_inference.infer_first_binding
        self.infer_call = type_inference.infer_call
        self.infer_method_call = type_inference.infer_method_call
        self.resolve_type_text = type_inference.resolve_type_text
        self.resolve_alias = type_inference.resolve_alias
        chain_evaluator = ChainEvaluator(self)
        self.resolve_reference = chain_evaluator.resolve_reference
        self.find_used_receiver = chain_evaluator.find_used_receiver
        self.evaluate = chain_evaluator.evaluate

    def release(self) -> None:
        """Break the reference cycles between its parts and the rules, so that the garbage collector is not needed."""
        for rules in set(self._rules_by_file):
            vars(rules).clear()
        vars(self).clear()

    def trim(self) -> None:
        """Forget memoised results if there are many; between files only, as no query may be active."""
        if len(self._memo_table) > _MAX_MEMOIZED:
            self._memo_table.begin_period()
        self.program.trim()

    def get_definition(self, referent: Referent) -> Definition:
        """Return the definition of a referent, or of its type for an instance."""
        return self.program.get_definition(referent.file, referent.index)

    def is_type(self, referent: Referent) -> bool:
        """Return whether a referent is a type itself."""
        if referent.kind != "definition":
            return False
        definition = self.program.get_definition(referent.file, referent.index)
        rules = self.get_rules(referent.file)
        return definition.kind in rules.type_kinds or rules.is_type_like(definition)

    @property
    def is_evaluating(self) -> bool:
        """True while a query is being evaluated."""
        return bool(self._query_memo.active_queries)

    def memoize(
        self, key: Hashable, compute: Callable[[], Referent | None], *, is_local: bool = False
    ) -> Referent | None:
        """Return the memoised result of a query, or compute and memoise it.

        Args:
            is_local: Whether it may depend on local names; it is then memoised with them.
        """
        table = self.local_names.memo if is_local else self._memo_table
        entry = table.get(key)
        if entry is None and not is_local:
            entry = self._memo_table.find_earlier(key)
        if entry is not None:
            return self._query_memo.reuse(entry)
        outer_local_names = self.local_names
        if not is_local:
            self.local_names = self._no_local_names
        try:
            return self._query_memo.evaluate(table, key, compute)
        finally:
            self.local_names = outer_local_names
