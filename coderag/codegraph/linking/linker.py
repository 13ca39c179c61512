"""The edges that begin in one file."""

from collections.abc import Iterator, Sequence, Set
from itertools import chain
from typing import Final, NamedTuple

from coderag.codegraph.linking.locals import Locals
from coderag.codegraph.linking.meanings import CALLABLE, SURENESS, TYPES, Meaning
from coderag.codegraph.linking.namesakes import as_type
from coderag.codegraph.linking.overloads import bare, called_name, takes
from coderag.codegraph.linking.program import MODULE, Consulted, Program
from coderag.codegraph.linking.resolver import Resolver
from coderag.codegraph.linking.rules.table import FULLY_LINKED
from coderag.schema.facts import Definition, Import, Reference
from coderag.schema.vocabulary import MODULE_OF, RESOLVED, EdgeRelation

_MOST_CANDIDATES: Final = 5
_CANDIDATES: Final = 0.8 * RESOLVED
"""How surely one of several candidates is meant."""
_NAMED_BY_TEST: Final = 0.9
_CALLED_BY_TEST: Final = 0.8


class Link(NamedTuple):
    """An edge from a file.

    Attributes:
        scope: Its source: a definition of the file, or the file itself.
        file, index: Its target; `index` is `MODULE` for the file itself, `file` -1 for what is external.
        name: Of the external package.
    """

    relation: EdgeRelation
    scope: int
    file: int
    index: int  # type: ignore[assignment]  # nobody asks a tuple where something is in it
    name: str
    resolver: str
    confidence: float
    line: int


class LinkedFile(NamedTuple):
    """The edges of a file, and what they depend on."""

    links: Sequence[Link]
    consulted: Consulted


class Linker:
    """Links files, one at a time.

    Args:
        resolver: Answers what names mean.
    """

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._program: Program = resolver.program
        self._imported_files: Sequence[int] = ()
        self._near_files: Sequence[int] = ()
        self._own_names: Set[str] = frozenset()
        self._declared_names: Set[str] = frozenset()

    def link(self, file: int) -> LinkedFile:
        """Return the edges that begin in a file."""
        with self._program.consulting() as consulted:
            body = self._program.body(file)
            self._near_files = ()
            rules = self._resolver.rules_of(file)
            self._own_names = {one.name for one in body.bindings}.union(
                rules.instance_names, rules.type_names, rules.base_names, rules.made_by
            )
            self._declared_names = self._program.declared_for(rules.languages, FULLY_LINKED)
            self._resolver.locals = Locals(file, body.bindings, self._program.interface(file), rules)
            facts = self._program.interface(file).facts
            imported = list(self._imports(file, facts.imports))
            self._imported_files = [link.file for link in imported if link.file >= 0]
            links = dict.fromkeys(
                chain(
                    imported,
                    self._bases(file),
                    self._overrides(file, facts.definitions),
                    self._references(file, body.build_references(self._may_be_here)),
                    self._documents(body.mentions),
                )
            )
            links.update(dict.fromkeys(self._package_imports(file, facts.imports, list(links))))
            if self._program.rows[file].role == "test" or self._program.peek(file).tests:
                links.update(dict.fromkeys(self._tests(file, list(links))))
        consulted.files.update(link.file for link in links if link.file >= 0)
        consulted.files.discard(file)
        return LinkedFile(list(links), consulted)

    # Imports and types

    def _imports(self, file: int, imports: Sequence[Import]) -> Iterator[Link]:
        rules = self._resolver.rules_of(file)
        for one in imports:
            if not one.module:
                continue
            module = rules.module(file, one.module)
            if module is not None and module.kind in ("module", "definition") and module.file != file:
                how = MODULE_OF if rules.is_own_module(one) else "import"
                yield self._link("imports", MODULE, module.by(how, SURENESS["import"]), one.line, file)
            elif module is not None and module.kind == "external":
                yield Link("imports", MODULE, -1, MODULE, rules.package_of(module.name), "import", 1.0, one.line)
            if one.name not in ("", "*"):
                found = rules.imported(self._resolver, file, one)
                if found is not None and found.kind in ("definition", "module", "instance"):
                    yield self._link("imports", MODULE, found.by("import", SURENESS["import"]), one.line, file)

    def _package_imports(self, file: int, imports: Sequence[Import], links: Sequence[Link]) -> Iterator[Link]:
        """Yield for each package imported as a whole those of its files that are used; one of them if none is known to be."""
        rules = self._resolver.rules_of(file)
        used = {link.file for link in links}
        for one in imports:
            package = rules.module(file, one.module) if one.module and one.name in ("", "*") else None
            if package is not None and package.kind == "package":
                files = rules.files_of(package.name)
                for other in [other for other in files if other in used] or files[:1]:
                    yield Link("imports", MODULE, other, MODULE, "", "import", SURENESS["import"], one.line)

    def _bases(self, file: int) -> Iterator[Link]:
        for scope, definition in enumerate(self._program.interface(file).definitions):
            if definition.kind in TYPES:
                for one in self._resolver.rules_of(file).implemented(self._resolver, file, scope):
                    yield self._link("implements", scope, one, definition.name_line, file)
        for owner in self._program.interface(file).bases:
            source = self._implementing(file, owner)
            for found, line, relation in self._resolver.bases(file, owner):
                if found.kind == "definition":
                    kind = self._relation_of_base(file, owner, found, relation)
                    yield self._link(kind, source, found, line, file)

    def _implementing(self, file: int, owner: int) -> int:
        """Return the type that an implementation is of, if it is in the same file; else what is given."""
        definition = self._program.definition(file, owner)
        if definition.kind == "impl":
            for other, index in self._resolver.rules_of(file).owner_types(self._resolver, file, definition):
                return index if other == file else owner
        return owner

    def _relation_of_base(self, file: int, owner: int, base: Meaning, written: str) -> EdgeRelation:
        if written in ("inherits", "implements"):
            return written  # type: ignore[return-value]
        above = self._program.definition(base.file, base.index).kind
        own = self._program.definition(file, owner).kind
        return "implements" if above in ("interface", "trait") and own not in ("interface", "trait") else "inherits"

    def _overrides(self, file: int, definitions: Sequence[Definition]) -> Iterator[Link]:
        rules = self._resolver.rules_of(file)
        for scope, one in enumerate(definitions):
            is_unnamed = one.kind == "function" and bool(one.owner)  # in a body without a name, of the type above
            if (one.kind != "method" and not is_unnamed) or not rules.may_override(one):
                continue
            owner = self._owner(file, one)
            if owner is None:
                continue
            for above in self._resolver.ancestors(*owner)[0 if is_unnamed else 1 :]:
                if above.kind == "definition":
                    found = self._resolver.own_member(above.file, above.index, called_name(one))
                    if found is not None and found.kind == "definition":
                        yield self._link(
                            "overrides", scope, found.by("inherited", SURENESS["inherited"]), one.name_line, file
                        )
                        break
            for above in rules.implemented(self._resolver, *owner):
                found = self._resolver.member_of_type(above.file, above.index, one.name)
                if found is not None and found.kind == "definition":
                    yield self._link(
                        "overrides", scope, found.by(above.resolver, above.confidence), one.name_line, file
                    )

    def _owner(self, file: int, definition: Definition) -> tuple[int, int] | None:
        parent = definition.parent
        if parent != MODULE and self._program.definition(file, parent).kind in TYPES:
            return file, parent
        return next(iter(self._resolver.rules_of(file).owner_types(self._resolver, file, definition)), None)

    # References

    def _references(self, file: int, references: Sequence[Reference]) -> Iterator[Link]:
        for one in references:
            found = self._resolver.referred(one)
            if found is None:
                yield from self._candidates(file, one)
            elif found.kind == "definition":
                yield from self._reference(file, one, found)
            elif found.kind == "instance" and one.kind == "call":
                method = self._resolver.member(found, "__call__")
                if method is not None and method.kind == "definition":
                    yield self._link("calls", one.scope, method, one.line, file)

    def _may_be_here(self, written: str) -> bool:
        """Return whether a chain may mean something in the repository: whether its last name is one of a declaration.

        Languages of which imports are followed do not lead into one another.
        """
        name = bare(written[written.rfind(".") + 1 :]).rstrip("!")  # Rust's macros
        if name in self._declared_names or name in self._own_names or not name.isidentifier():
            return True
        self._program.note(f"unknown:{name}")
        return False

    def _reference(self, file: int, one: Reference, found: Meaning) -> Iterator[Link]:
        if (found.file, found.index) == (file, one.scope) and one.kind != "call":
            return
        if one.kind == "read" and found.resolver == "value" and "." not in one.chain:
            return  # a variable is mentioned, not what it happens to hold
        called = self._called(found, one.kind) if one.kind in ("call", "new", "decorator") else None
        if called is None:
            yield self._link("references", one.scope, found, one.line, file)
        else:
            kind = self._program.definition(called.file, called.index).kind
            yield self._link("instantiates" if kind in TYPES else "calls", one.scope, called, one.line, file)

    def _called(self, found: Meaning, use: str) -> Meaning | None:
        """Return the type or function that runs where a definition is called: itself, or what a variable holds."""
        kind = self._program.definition(found.file, found.index).kind
        if kind in TYPES or kind in CALLABLE:
            return found
        value = self._resolver.value(found)
        if value is not None and value.kind == "instance" and use != "new":
            value = self._resolver.member(value, "__call__")
        if value is not None and value.kind == "definition":
            return value
        return self._named_like(found) if use == "new" else None

    def _named_like(self, constant: Meaning) -> Meaning | None:
        """Return the type that has a constant's name, which is what it makes; None if there is none."""
        found = as_type(self._resolver, constant) if self._resolver.rules_of(constant.file).values_apart else constant
        return found if self._resolver.is_type(found) else None

    def _candidates(self, file: int, one: Reference) -> Iterator[Link]:
        """Yield what a method call may mean whose receiver is not known: the only method of its name in what is imported.

        What an object calls of its own that no type above declares is a member of the types below: of a mixin's users.
        """
        owner, _, name = one.chain.rpartition(".")
        rules = self._resolver.rules_of(file)
        name, _, count = name.partition("/")
        if one.kind != "call" or not owner or not name.isidentifier():
            return
        is_own = owner in rules.instance_names and not rules.types_are_declared
        below = self._below(file, one.scope, name) if is_own else []
        if not below and name in rules.common_methods:
            return
        found = below or [
            Meaning("definition", other, index)
            for other in self._near(file)
            for index in self._program.interface(other).methods.get(name, ())
            if not count or takes(self._program.definition(other, index), int(count))
        ]
        if not 1 <= len(found) <= _MOST_CANDIDATES:
            return
        how = ("unique", rules.unique) if len(found) == 1 else ("candidate", _CANDIDATES / len(found))
        for target in found:
            yield self._link("calls", one.scope, target.by(*how), one.line, file)

    def _below(self, file: int, scope: int, name: str) -> list[Meaning]:
        """Return the methods of a name that the types below the one around a scope have, or one too many of them."""
        own = self._resolver.own_type(file, scope)
        found: dict[Meaning, None] = {}
        for one in self._resolver.descendants(own.file, own.index) if own else ():
            member = self._resolver.member_of_type(one.file, one.index, name)
            if (
                member is not None
                and member.kind == "definition"
                and self._resolver.definition(member).kind in CALLABLE
            ):
                found[Meaning("definition", member.file, member.index)] = None
                if len(found) > _MOST_CANDIDATES:
                    break
        return list(found)

    def _near(self, file: int) -> Sequence[int]:
        """Return the file that is being linked, and those whose declarations it may use."""
        if not self._near_files:
            also = self._resolver.rules_of(file).also_seen(file)
            self._near_files = list(dict.fromkeys([file, *self._imported_files, *also]))
        return self._near_files

    # Tests and documents

    def _tests(self, file: int, links: Sequence[Link]) -> Iterator[Link]:
        """Yield what a file's tests test: what they call, and what their names name; all that is in a test file is a test."""
        definitions = self._program.interface(file).definitions
        for one in links:
            if one.file < 0 or one.confidence < RESOLVED or not self._is_tested(file, one):
                continue
            if one.relation in ("calls", "instantiates") and one.scope != MODULE:
                called = self._program.definition(one.file, one.index).name
                named = _names(definitions[one.scope].name, called)
                confidence = one.confidence * (_NAMED_BY_TEST if named else _CALLED_BY_TEST)
                yield one._replace(relation="tests", resolver="name" if named else "call", confidence=confidence)
            elif one.relation == "imports" and one.index == MODULE:
                own, other = (_stem(self._program.rows[number].path) for number in (file, one.file))
                if _names(own, other):
                    yield one._replace(relation="tests", resolver="name", confidence=_NAMED_BY_TEST)

    def _is_tested(self, file: int, link: Link) -> bool:
        """Return whether a link leads from a test to what is none."""
        role = self._program.role
        return role(file, link.scope) == "test" and role(link.file, link.index) != "test"

    def _documents(self, mentions: Sequence[tuple[str, int]]) -> Iterator[Link]:
        for name, line in mentions:
            last = name.rpartition(".")[2]
            self._program.note(f"name:*:{last}")
            found = [
                (file, index)
                for file, index in self._program.named(last)
                if f".{self._program.qualified(file, index)}".endswith(f".{name}")
            ]
            if len(found) == 1:
                file, index = found[0]
                sure = 0.9 if "." in name else 0.7
                yield Link("documents", MODULE, file, index, "", "name", sure, line)

    def _link(self, relation: EdgeRelation, scope: int, found: Meaning, line: int, file: int) -> Link:
        resolver = "scope" if found.resolver == "scope" and found.file == file else found.resolver
        return Link(relation, scope, found.file, found.index, "", resolver, round(found.confidence, 3), line)


def _names(test: str, tested: str) -> bool:
    """Return whether a test is named after something: ``test_login_fails`` and ``TestLogin`` after ``login`` and ``Login``."""
    words = test.replace("_", "").replace("-", "").replace(".", "").casefold()
    for affix in ("tests", "test", "spec", "should"):
        words = words.removeprefix(affix).removesuffix(affix)
    name = tested.replace("_", "").replace("-", "").casefold()
    return len(name) > 2 and words.startswith(name)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]
