"""Relations between declarations in a recorded truth: the expected answers of questions."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

from evals.graph.ground_truth import SEPARATE_CALL_KINDS, CallTarget, GroundTruth

from .expected_answers import ExpectedAnswer, Usage, group_usages, is_test, to_answer
from .outline import CompilerDeclaration, Outline

_OPAQUE_CALL_KINDS = SEPARATE_CALL_KINDS | {"value"}  # calls that do not name their target
_IMPACT_STEPS = 2
_UsagesByDeclaration = Mapping[CompilerDeclaration, Sequence[Usage]]


class KnownRelations:
    """The recorded relations of one repository.

    Args:
        truth: Its calls and classes.
        outline: Its declarations.
    """

    def __init__(self, truth: GroundTruth, outline: Outline) -> None:
        self._outline = outline
        self._calls: dict[CompilerDeclaration, list[Usage]] = defaultdict(list)
        self._uses: dict[CompilerDeclaration, list[Usage]] = defaultdict(list)  # calls of any kind
        self._constructions: dict[CompilerDeclaration, list[Usage]] = defaultdict(list)
        self._callees: dict[CompilerDeclaration, dict[CompilerDeclaration, ExpectedAnswer]] = defaultdict(dict)
        self._subtypes: dict[CompilerDeclaration, list[CompilerDeclaration]] = defaultdict(list)
        self._members: dict[tuple[str, str], list[CompilerDeclaration]] = defaultdict(list)
        for declaration in outline.declarations:
            self._members[declaration.path, declaration.owner].append(declaration)
        for site in truth.sites:
            usage = Usage(outline.find_enclosing(site.path, site.line), site.path, site.line)
            for target in site.targets:
                callee = outline.find_at(target.place)
                if callee is not None and callee != usage.declaration:
                    self._add_call(usage, callee, target)
        for row in truth.hierarchy:
            subtype = outline.find_at(row.declaration)
            for base in map(outline.find_at, row.bases):
                if subtype is not None and base is not None:
                    self._subtypes[base].append(subtype)

    def _add_call(self, usage: Usage, callee: CompilerDeclaration, target: CallTarget) -> None:
        self._uses[callee].append(usage)
        if target.kind in _OPAQUE_CALL_KINDS:
            return
        self._calls[callee].append(usage)
        for constructor in filter(None, map(self._outline.find_at, target.also)):
            self._constructions[constructor].append(usage)
        caller = usage.declaration
        if caller is not None and not (callee.path == caller.path and caller.first <= callee.line <= caller.last):
            self._callees[caller][callee] = self._build_callee_answer(callee, target)

    def find_callers(self, declaration: CompilerDeclaration) -> list[ExpectedAnswer]:
        """Return the callers of a function, or the code that instantiates a class."""
        return group_usages(self._calls.get(declaration, ()), declaration.name)

    def find_users(self, declaration: CompilerDeclaration) -> list[ExpectedAnswer]:
        """Return the callers of a declaration, and the direct subclasses of a class."""
        return [*self.find_callers(declaration), *map(to_answer, self._subtypes.get(declaration, ()))]

    def find_callees(self, declaration: CompilerDeclaration) -> list[ExpectedAnswer]:
        """Return the functions that a function calls."""
        return list(self._callees.get(declaration, {}).values())

    def find_subtypes(self, declaration: CompilerDeclaration) -> list[ExpectedAnswer]:
        """Return all classes below a class, direct and indirect."""
        return [to_answer(subtype) for subtype in self._find_all_subtypes(declaration)]

    def find_overrides(self, declaration: CompilerDeclaration) -> list[ExpectedAnswer]:
        """Return the methods that override a method in subclasses."""
        return [to_answer(override) for override in self._find_overriding(declaration)]

    def find_tests(self, declaration: CompilerDeclaration) -> list[ExpectedAnswer]:
        """Return the tests that call a function, instantiate a class or call its methods directly."""
        usages = chain.from_iterable(
            self._calls.get(member, ()) for member in (declaration, *self._find_members(declaration))
        )
        return group_usages(filter(is_test, usages), "" if self._find_members(declaration) else declaration.name)

    def find_impact(self, declaration: CompilerDeclaration) -> list[ExpectedAnswer]:
        """Return the code that uses, derives from or overrides a declaration or its members, in two steps."""
        return self._collect_impact(declaration, self._calls, _IMPACT_STEPS)

    def find_all_impact(self, declaration: CompilerDeclaration) -> list[ExpectedAnswer]:
        """Return all code that is known to be affected in some way, including a third step."""
        return self._collect_impact(declaration, self._uses, _IMPACT_STEPS + 1)

    def find_any_users(self, declaration: CompilerDeclaration) -> list[ExpectedAnswer]:
        """Return all known users of a declaration or its members: right answers where users are asked for."""
        usages = chain.from_iterable(
            self._uses.get(member, ()) for member in (declaration, *self._find_members(declaration))
        )
        return group_usages([*usages, *self._constructions.get(declaration, ())])

    def find_importers(self, path: str) -> list[ExpectedAnswer]:
        """Return the files that import a file, each with the lines of its imports."""
        return group_usages(
            Usage(None, row.path, row.line) for row in self._outline.imports if row.imported_path == path
        )

    def _build_callee_answer(self, callee: CompilerDeclaration, target: CallTarget) -> ExpectedAnswer:
        alternatives = [
            alternative
            for alternative in map(self._outline.find_at, (*target.also, *target.overridden))
            if alternative is not None
        ]
        return to_answer(callee)._replace(alternatives=tuple(map(to_answer, alternatives)))

    def _collect_impact(
        self, declaration: CompilerDeclaration, calls: _UsagesByDeclaration, steps: int
    ) -> list[ExpectedAnswer]:
        usages_by_unit: dict[CompilerDeclaration | str, list[Usage]] = defaultdict(list)
        seen = frontier = {declaration}
        for _ in range(steps):
            usages = [usage for member in frontier for usage in self._find_affected(member, calls)]
            for usage in usages:
                usages_by_unit[usage.declaration or usage.path].append(usage)
            frontier = {usage.declaration for usage in usages if usage.declaration is not None} - seen
            seen = seen | frontier
        own_units = {declaration, *self._find_members(declaration)}
        return [
            answer
            for unit, usages in usages_by_unit.items()
            if unit not in own_units
            for answer in group_usages(usages)
        ]

    def _find_affected(self, declaration: CompilerDeclaration, calls: _UsagesByDeclaration) -> Iterator[Usage]:
        for member in (declaration, *self._find_members(declaration)):
            yield from calls.get(member, ())
            yield from self._constructions.get(member, ())
            for subtype in (*self._subtypes.get(member, ()), *self._find_overriding(member)):
                yield Usage(subtype, subtype.path, subtype.line)

    def _find_members(self, declaration: CompilerDeclaration) -> list[CompilerDeclaration]:
        return (
            self._members.get((declaration.path, declaration.qualified_name), []) if declaration.kind == "class" else []
        )

    def _find_all_subtypes(self, declaration: CompilerDeclaration) -> list[CompilerDeclaration]:
        subtypes: dict[CompilerDeclaration, None] = {}
        pending = [declaration]
        while pending:
            for subtype in self._subtypes.get(pending.pop(), ()):
                if subtype not in subtypes and subtype != declaration:
                    subtypes[subtype] = None
                    pending += [] if subtype.local else [subtype]  # a local class may have other bases at each call
        return list(subtypes)

    def _find_overriding(self, declaration: CompilerDeclaration) -> list[CompilerDeclaration]:
        owners = [
            member for member in self._outline.files[declaration.path] if member.qualified_name == declaration.owner
        ]
        if declaration.kind != "function" or not owners or owners[0].kind != "class":
            return []
        members = chain.from_iterable(map(self._find_members, self._find_all_subtypes(owners[0])))
        return [member for member in members if member.name == declaration.name and member.kind == "function"]


RelationLookup = Callable[[KnownRelations, CompilerDeclaration], list[ExpectedAnswer]]
