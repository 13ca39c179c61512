"""Linking of one file: the edges that start in it."""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import chain
from typing import Final, NamedTuple

from coderag.codegraph.linking.companions import is_object
from coderag.codegraph.linking.declaration_spaces import to_type_space
from coderag.codegraph.linking.local_names import LocalNames
from coderag.codegraph.linking.overloads import can_take_arguments, strip_arity
from coderag.codegraph.linking.program import MODULE, Dependencies, Program
from coderag.codegraph.linking.referents import CALLABLE_KINDS, DATA_KINDS, RESOLVER_PRECISION, TYPE_KINDS, Referent
from coderag.codegraph.linking.resolver import Resolver
from coderag.codegraph.linking.rules.rules_table import FULLY_LINKED_LANGUAGES
from coderag.schema.facts import ANONYMOUS_MODIFIER, OBJECT_RELATION, PROTOTYPE_MODIFIER, Definition, Import, Reference
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE, MODULE_RESOLVER, EdgeRelation

_MAX_CANDIDATES: Final = 5
_TOTAL_CANDIDATE_CONFIDENCE: Final = 0.8 * MIN_RESOLVED_CONFIDENCE
"""Sum of the confidences of several candidates."""
_TEST_NAME_CONFIDENCE: Final = 0.9
_TEST_CALL_CONFIDENCE: Final = 0.8


class Link(NamedTuple):
    """An edge from a file.

    Attributes:
        scope: Source: a definition of the file, or the file itself.
        file, index: Target; ``index`` is `MODULE` for the file itself, ``file`` is -1 for an external package.
        name: Name of the external package.
    """

    relation: EdgeRelation
    scope: int
    file: int
    index: int  # type: ignore[assignment]  # hides tuple.index, which is not used
    name: str
    resolver: str
    confidence: float
    line: int


class LinkedFile(NamedTuple):
    """Edges of a file and their dependencies."""

    links: Sequence[Link]
    dependencies: Dependencies


class Linker:
    """Links files one at a time.

    Args:
        resolver: Resolves names.
    """

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._program: Program = resolver.program
        self._imported_files: Sequence[int] = ()
        self._nearby_files: Sequence[int] = ()
        self._own_names: Set[str] = frozenset()
        self._visible_names: Set[str] = frozenset()  # that the file declares or imports
        self._declared_names: Set[str] = frozenset()
        self._spell: Callable[[str], Iterable[str]] = tuple

    def link(self, file: int) -> LinkedFile:
        """Return the edges that start in a file."""
        with self._program.track_dependencies() as dependencies:
            body = self._program.read_body(file)
            self._nearby_files = ()
            rules = self._resolver.get_rules(file)
            self._own_names = {binding.name for binding in body.bindings}.union(
                rules.self_names, rules.self_type_names, rules.super_names, rules.factory_methods
            )
            self._spell = rules.iterate_spellings
            languages = (*rules.languages, *rules.interoperable_languages)
            self._declared_names = self._program.find_declared_names(languages, FULLY_LINKED_LANGUAGES)
            self._resolver.local_names = LocalNames(file, body.bindings, self._program.read_interface(file), rules)
            facts = self._program.read_interface(file).facts
            self._visible_names = self._own_names.union(
                self._program.read_interface(file).names_by_scope.get(MODULE, ())
            )
            import_links = list(self._link_imports(file, facts.imports))
            self._imported_files = [link.file for link in import_links if link.file >= 0]
            links = dict.fromkeys(
                chain(
                    import_links,
                    self._link_bases(file),
                    self._link_overrides(file, facts.definitions),
                    self._link_references(file, body.build_references(self._can_be_declared)),
                    self._link_documents(body.mentions),
                )
            )
            links.update(dict.fromkeys(self._link_package_imports(file, facts.imports, list(links))))
            if self._program.rows[file].role == "test" or self._program.peek(file).test_definitions:
                links.update(dict.fromkeys(self._link_tests(file, list(links))))
        dependencies.files.update(link.file for link in links if link.file >= 0)
        dependencies.files.discard(file)
        return LinkedFile(list(links), dependencies)

    def trim(self) -> None:
        """Forget memoised results of earlier files if there are many."""
        self._resolver.trim()

    # Imports and types

    def _link_imports(self, file: int, imports: Sequence[Import]) -> Iterator[Link]:
        rules = self._resolver.get_rules(file)
        for import_ in imports:
            if not import_.module:
                continue
            module = rules.resolve_module(file, import_.module)
            if module is not None and module.kind in ("module", "definition") and module.file != file:
                resolver_name = MODULE_RESOLVER if rules.is_module_declaration(import_) else "import"
                yield self._build_link(
                    "imports",
                    MODULE,
                    module.replace_resolver(resolver_name, RESOLVER_PRECISION["import"]),
                    import_.line,
                    file,
                )
            elif module is not None and module.kind == "external":
                yield Link(
                    "imports", MODULE, -1, MODULE, rules.extract_package_name(module.name), "import", 1.0, import_.line
                )
            if import_.name != "*":
                referent = rules.resolve_import(self._resolver, file, import_)
                if referent is not None and (
                    referent.kind in ("definition", "module", "instance")
                    if import_.name
                    else _is_whole_export(module, referent)
                ):
                    yield self._build_link(
                        "imports",
                        MODULE,
                        referent.replace_resolver("import", RESOLVER_PRECISION["import"]),
                        import_.line,
                        file,
                    )

    def _link_package_imports(self, file: int, imports: Sequence[Import], links: Sequence[Link]) -> Iterator[Link]:
        """Yield an edge to each used file of a package that is imported whole; to one file if none is known to be used."""
        rules = self._resolver.get_rules(file)
        used_files = {link.file for link in links}
        for import_ in imports:
            package = (
                rules.resolve_module(file, import_.module) if import_.module and import_.name in ("", "*") else None
            )
            if package is not None and package.kind == "package":
                files = rules.find_package_files(package.name)
                for package_file in [package_file for package_file in files if package_file in used_files] or files[:1]:
                    yield Link(
                        "imports",
                        MODULE,
                        package_file,
                        MODULE,
                        "",
                        "import",
                        RESOLVER_PRECISION["import"],
                        import_.line,
                    )

    def _link_bases(self, file: int) -> Iterator[Link]:
        for scope, definition in enumerate(self._program.read_interface(file).definitions):
            if definition.kind in TYPE_KINDS:
                for implemented_type in self._resolver.get_rules(file).find_implemented_types(
                    self._resolver, file, scope
                ):
                    yield self._build_link("implements", scope, implemented_type, definition.name_line, file)
        yield from self._link_anonymous(file)
        for owner in self._program.read_interface(file).bases:
            source = self._find_implementing_type(file, owner)
            for base, line, relation in self._resolver.resolve_bases(file, owner):
                if base.kind == "definition":
                    kind = self._infer_base_relation(file, owner, base, relation)
                    typed = base.replace_resolver("annotation", RESOLVER_PRECISION["annotation"])
                    yield self._build_link(kind, source, typed if relation == OBJECT_RELATION else base, line, file)

    def _link_anonymous(self, file: int) -> Iterator[Link]:
        """Yield an edge from the declaration around an object or enum constant with methods to its supertype."""
        sources: set[tuple[int, str]] = set()
        for definition in self._program.read_interface(file).definitions:
            source = definition.parent, definition.owner
            if source[0] == MODULE or source in sources or not _is_unnamed_member(definition):
                continue
            sources.add(source)
            if (supertype := self._find_supertype(file, definition)) is not None:
                kind = self._infer_base_relation(file, definition.parent, supertype, "")
                base = supertype.replace_resolver("annotation", RESOLVER_PRECISION["annotation"])
                yield self._build_link(kind, definition.parent, base, definition.name_line, file)

    def _find_supertype(self, file: int, member: Definition) -> Referent | None:
        """Return the supertype of the anonymous object that has a member; None if it is not in the repository."""
        supertype = self._resolver.resolve_type_text(file, member.parent, member.owner, member.start_line)
        is_known = supertype is not None and supertype.kind == "instance"
        return Referent("definition", supertype.file, supertype.index) if supertype is not None and is_known else None

    def _find_implementing_type(self, file: int, owner: int) -> int:
        """Return the type of an implementation if it is in the same file; else the implementation."""
        definition = self._program.get_definition(file, owner)
        if definition.kind == "impl":
            for owner_file, index in self._resolver.get_rules(file).find_owner_types(self._resolver, file, definition):
                return index if owner_file == file else owner
        return owner

    def _infer_base_relation(self, file: int, owner: int, base: Referent, written_relation: str) -> EdgeRelation:
        if written_relation in ("inherits", "implements"):
            return written_relation  # type: ignore[return-value]
        if written_relation == OBJECT_RELATION:
            return "implements"
        base_kind = self._program.get_definition(base.file, base.index).kind
        own_kind = self._program.get_definition(file, owner).kind
        return (
            "implements"
            if base_kind in ("interface", "trait", "type_alias") and own_kind not in ("interface", "trait")
            else "inherits"
        )

    def _link_overrides(self, file: int, definitions: Sequence[Definition]) -> Iterator[Link]:
        rules = self._resolver.get_rules(file)
        prototypes = self._find_defined_prototypes(file)
        for scope, definition in enumerate(definitions):
            is_unnamed = _is_unnamed_member(definition)  # then the owner is the supertype
            is_function = definition.kind == "function" and definition.parent != MODULE and not is_unnamed
            is_member = is_function and rules.is_type_like(definitions[definition.parent])
            is_field = definition.kind == "field" and rules.overrides_fields
            is_overriding_kind = definition.kind == "method" or is_unnamed or is_member or is_field
            if not is_overriding_kind or not rules.can_override(definition):
                continue
            if scope in prototypes:
                continue  # its definition has the edge
            owner = (file, definition.parent) if is_member else self._find_owner(file, definition)
            if owner is None:
                continue
            for ancestor in self._resolver.find_ancestors(*owner)[0 if is_unnamed else 1 :]:
                if ancestor.kind == "definition":
                    overridden = self._resolver.get_rules(ancestor.file).find_overridden_member(
                        self._resolver, ancestor, definition
                    )
                    if overridden is not None and self._is_overridable(overridden):
                        yield self._build_link(
                            "overrides",
                            scope,
                            self._follow_prototype(overridden).replace_resolver(
                                "inherited", RESOLVER_PRECISION["inherited"]
                            ),
                            definition.name_line,
                            file,
                        )
                        break
            for ancestor in rules.find_implemented_types(self._resolver, *owner):
                overridden = self._resolver.find_type_member(ancestor.file, ancestor.index, definition.name)
                if overridden is not None and overridden.kind == "definition":
                    yield self._build_link(
                        "overrides",
                        scope,
                        overridden.replace_resolver(ancestor.resolver, ancestor.confidence),
                        definition.name_line,
                        file,
                    )

    def _is_overridable(self, member: Referent) -> bool:
        return member.kind == "definition" and self._resolver.get_rules(member.file).is_overridable(
            self._resolver.get_definition(member)
        )

    def _find_owner(self, file: int, definition: Definition) -> tuple[int, int] | None:
        """Return the type that has a method, or the object of a declared type."""
        if _is_unnamed_member(definition):
            supertype = self._find_supertype(file, definition)
            return None if supertype is None else (supertype.file, supertype.index)
        parent = definition.parent
        if parent != MODULE:
            kind = self._program.get_definition(file, parent).kind
            is_object = kind in DATA_KINDS and parent in self._program.read_interface(file).bases
            if kind in self._resolver.get_rules(file).type_kinds or is_object:
                return file, parent
        return next(iter(self._resolver.get_rules(file).find_owner_types(self._resolver, file, definition)), None)

    # References

    def _link_references(self, file: int, references: Sequence[Reference]) -> Iterator[Link]:
        prototypes = self._find_defined_prototypes(file)
        for reference in references:
            if reference.scope in prototypes:
                continue  # its definition has the same references
            referent = self._resolver.resolve_reference(reference)
            if referent is None or referent.kind in ("external", "supplier"):
                yield from self._link_unresolved(file, reference, referent)
            elif referent.kind == "definition":
                yield from self._link_reference(file, reference, referent)
            elif referent.kind == "module" and self._resolver.get_rules(referent.file).is_component(referent.file):
                yield self._build_link("references", reference.scope, referent, reference.line, file)
            elif referent.kind == "instance" and reference.kind == "call":
                method = self._resolver.find_member(referent, self._resolver.get_rules(referent.file).call_method)
                if method is not None and method.kind == "definition":
                    yield self._build_link("calls", reference.scope, method, reference.line, file)
                else:
                    yield from self._link_slot_values(file, reference)

    def _link_unresolved(self, file: int, reference: Reference, referent: Referent | None) -> Iterator[Link]:
        """Yield the edges of a reference to nothing in the repository: to what its receiver is, or to candidates."""
        if referent is not None and self._is_undeclared_factory(file, reference, referent):
            yield self._build_link("instantiates", reference.scope, referent, reference.line, file)
            return
        receiver = self._resolver.find_used_receiver(reference) if reference.kind != "type" else None
        if receiver is not None:
            yield from self._link_receiver(file, reference, receiver)
        if referent is None:  # a decorator may have made the receiver an instance of any type
            yield from self._link_candidates(file, reference)

    def _is_undeclared_factory(self, file: int, reference: Reference, referent: Referent) -> bool:
        """Return whether a call is of a method that every type has and that makes an instance: ``Foo.new`` in Ruby."""
        if referent.kind != "supplier" or reference.kind != "call":
            return False
        rules = self._resolver.get_rules(file)
        return rules.has_object_scope and reference.chain.rpartition(".")[2] in rules.factory_methods

    def _can_be_declared(self, chain_text: str) -> bool:
        """Return whether a chain may have a referent in the repository, or a receiver.

        A declaration has its last name, or one of the names before it. Fully linked languages do not refer to one another.
        """
        owner, _, last_name = chain_text.rpartition(".")
        last_name = strip_arity(last_name)
        name = last_name.rstrip("!")  # Rust's macros
        if name in self._declared_names or name in self._own_names or not name.isidentifier():
            return True
        if last_name != name:  # functions of Elixir and Ruby
            if last_name in self._declared_names:
                return True
            self._program.record_key(f"unknown:{last_name}")
        names = owner.split(".") if owner else []
        if not self._declared_names.isdisjoint(names):
            return True
        for spelling in self._spell(name):
            if spelling in self._declared_names:
                return True
            self._program.record_key(f"unknown:{spelling}")
        self._program.record_key(f"unknown:{name}")
        if names and names[0] not in self._visible_names:
            self._program.record_key(f"unknown:{names[0]}")
        return False

    def _link_receiver(self, file: int, reference: Reference, receiver: Referent) -> Iterator[Link]:
        """Yield the edge to the function or type whose member is used: ``send.delay(1)``, ``draw.call(this)``."""
        member = reference.chain.rpartition(".")[2]
        definition = self._resolver.get_definition(receiver)
        is_call = reference.kind == "call" and member in self._resolver.get_rules(file).calling_members
        if is_call and definition.kind in CALLABLE_KINDS:
            yield self._build_link("calls", reference.scope, receiver, reference.line, file)
            return
        user = self._program.get_definition(file, reference.scope) if reference.scope != MODULE else None
        if receiver.resolver == "value":
            return  # the reference is to the variable, not to its value
        is_part = user is not None and receiver.file == file and user.qualified_name == definition.qualified_name
        if not is_part:  # ``@size.setter`` names the property itself
            yield self._build_link("references", reference.scope, receiver, reference.line, file)

    def _link_reference(self, file: int, reference: Reference, referent: Referent) -> Iterator[Link]:
        referent = self._follow_prototype(referent)
        if (referent.file, referent.index) == (file, reference.scope) and reference.kind != "call":
            return
        if reference.kind == "read" and referent.resolver == "value" and "." not in reference.chain:
            return  # the reference is to the variable, not to its value
        is_call = reference.kind in ("call", "new", "decorator") or self._is_called_by_name(reference, referent)
        callee = self._find_callee(referent, reference.kind) if is_call else None
        if callee is None:
            yield self._build_link("references", reference.scope, referent, reference.line, file)
        else:
            callee = self._follow_prototype(callee)
            is_instantiated = self._resolver.is_type(callee)
            yield self._build_link(
                "instantiates" if is_instantiated else "calls", reference.scope, callee, reference.line, file
            )

    def _find_defined_prototypes(self, file: int) -> Set[int]:
        """Return the declarations of a file that only announce another one."""
        rules = self._resolver.get_rules(file)
        return {
            scope
            for scope, definition in enumerate(self._program.read_interface(file).definitions)
            if PROTOTYPE_MODIFIER in definition.modifiers
            and rules.find_definition(self._resolver, file, scope) is not None
        }

    def _follow_prototype(self, referent: Referent) -> Referent:
        """Return the definition of a declaration that only announces it; else the declaration."""
        rules = self._resolver.get_rules(referent.file)
        definition = rules.find_definition(self._resolver, referent.file, referent.index)
        if definition is None:
            return referent
        return definition.replace_resolver(referent.resolver, referent.confidence)

    def _find_callee(self, referent: Referent, use: str) -> Referent | None:
        """Return the type or function that a call of a definition runs: itself, or the value of a variable."""
        kind = self._program.get_definition(referent.file, referent.index).kind
        rules = self._resolver.get_rules(referent.file)
        if kind in TYPE_KINDS and use == "call" and rules.has_companions:
            return rules.find_applied_member(self._resolver, referent) or self._find_companion_class(referent)
        if kind in TYPE_KINDS or kind in CALLABLE_KINDS:
            return referent
        if self._resolver.get_rules(referent.file).has_object_scope:
            return None  # a call of an attribute reads it
        value = self._resolver.infer_value(referent)
        if value is not None and value.kind == "instance" and use != "new":
            value = self._resolver.find_member(value, self._resolver.get_rules(value.file).call_method)
        if value is not None and value.kind == "definition":
            return value
        return self._find_same_named_type(referent) if use == "new" else None

    def _is_called_by_name(self, reference: Reference, referent: Referent) -> bool:
        definition = self._program.get_definition(referent.file, referent.index)
        rules = self._resolver.get_rules(referent.file)
        return reference.kind == "read" and definition.kind in CALLABLE_KINDS and rules.is_called_by_name(definition)

    def _find_companion_class(self, referent: Referent) -> Referent | None:
        """Return the class that a call of an object's name instantiates; None if there is none."""
        companion = to_type_space(self._resolver, referent)
        return None if is_object(self._program.get_definition(companion.file, companion.index)) else companion

    def _find_same_named_type(self, constant: Referent) -> Referent | None:
        """Return the type with the name of a constant, which is what it instantiates; None if there is none."""
        same_named = (
            to_type_space(self._resolver, constant)
            if self._resolver.get_rules(constant.file).separates_values
            else constant
        )
        return same_named if self._resolver.is_type(same_named) else None

    def _link_candidates(self, file: int, reference: Reference) -> Iterator[Link]:
        """Yield candidates of a method call with an unknown receiver: the methods of its name in imported files.

        A call on the own object that no ancestor declares refers to members of the subtypes: the users of a mixin.
        """
        owner, _, name = reference.chain.rpartition(".")
        rules = self._resolver.get_rules(file)
        name, _, argument_count = name.partition("/")
        is_named = name.rstrip("?!").isidentifier() and not argument_count.endswith(
            (")", "]")
        )  # no other call's result
        is_bare = rules.has_object_scope and not owner
        if reference.kind != "call" or not (owner or is_bare) or not is_named:
            return
        is_own_call = (is_bare or owner in rules.self_names) and rules.calls_members_of_subtypes
        descendant_methods = self._find_descendant_methods(file, reference.scope, name) if is_own_call else []
        candidates = descendant_methods or self._find_slot_values(file, reference)
        if not candidates and (is_bare or name in rules.common_methods):
            return
        candidates = candidates or [
            self._follow_prototype(Referent("definition", nearby_file, index))
            for nearby_file in self._get_nearby_files(file)
            for index in self._program.read_interface(nearby_file).methods.get(name, ())
            if not argument_count
            or can_take_arguments(self._program.get_definition(nearby_file, index), int(argument_count))
        ]
        yield from self._build_candidate_links(file, reference, list(dict.fromkeys(candidates)))

    def _link_slot_values(self, file: int, reference: Reference) -> Iterator[Link]:
        """Yield candidates of a call of a field: the functions that initialisers put there."""
        yield from self._build_candidate_links(file, reference, self._find_slot_values(file, reference))

    def _find_slot_values(self, file: int, reference: Reference) -> list[Referent]:
        owner, _, name = reference.chain.rpartition(".")
        if not owner:
            return []
        receiver = self._resolver.evaluate(file, reference.scope, owner, reference.line)
        value = None if receiver is None else self._resolver.infer_value(receiver)
        owner_type = value if value is not None and value.kind == "instance" else None
        functions = self._resolver.get_rules(file).find_slot_values(self._resolver, owner_type, name)
        return list(dict.fromkeys(map(self._follow_prototype, functions)))

    def _build_candidate_links(self, file: int, reference: Reference, candidates: Sequence[Referent]) -> Iterator[Link]:
        rules = self._resolver.get_rules(file)
        if not 1 <= len(candidates) <= _MAX_CANDIDATES:
            return
        attribution = (
            ("unique", rules.unique_method_confidence)
            if len(candidates) == 1
            else ("candidate", _TOTAL_CANDIDATE_CONFIDENCE / len(candidates))
        )
        for target in candidates:
            yield self._build_link(
                "calls", reference.scope, target.replace_resolver(*attribution), reference.line, file
            )

    def _find_descendant_methods(self, file: int, scope: int, name: str) -> list[Referent]:
        """Return the methods of a name in the subtypes of the enclosing type; one above the maximum if there are too many."""
        own_type = self._resolver.find_enclosing_type(file, scope)
        methods: dict[Referent, None] = {}
        for descendant in self._resolver.find_descendants(own_type.file, own_type.index) if own_type else ():
            member = self._resolver.find_type_member(descendant.file, descendant.index, name)
            if (
                member is not None
                and member.kind == "definition"
                and self._resolver.get_definition(member).kind in CALLABLE_KINDS
            ):
                methods[Referent("definition", member.file, member.index)] = None
                if len(methods) > _MAX_CANDIDATES:
                    break
        return list(methods)

    def _get_nearby_files(self, file: int) -> Sequence[int]:
        """Return the file that is being linked and the files whose declarations are visible in it."""
        if not self._nearby_files:
            visible_files = self._resolver.get_rules(file).find_visible_files(file)
            self._nearby_files = list(dict.fromkeys([file, *self._imported_files, *visible_files]))
        return self._nearby_files

    # Tests and documents

    def _link_tests(self, file: int, links: Sequence[Link]) -> Iterator[Link]:
        """Yield the edges from tests to what they call or are named after; everything in a test file is a test."""
        definitions = self._program.read_interface(file).definitions
        for link in links:
            if link.file < 0 or link.confidence < MIN_RESOLVED_CONFIDENCE or not self._is_tested(file, link):
                continue
            if link.relation in ("calls", "instantiates") and link.scope != MODULE:
                callee_name = self._program.get_definition(link.file, link.index).name
                is_named = _is_named_after(definitions[link.scope].name, callee_name)
                confidence = link.confidence * (_TEST_NAME_CONFIDENCE if is_named else _TEST_CALL_CONFIDENCE)
                yield link._replace(relation="tests", resolver="name" if is_named else "call", confidence=confidence)
            elif link.relation == "imports" and link.index == MODULE:
                own_stem, imported_stem = (_get_stem(self._program.rows[number].path) for number in (file, link.file))
                if _is_named_after(own_stem, imported_stem):
                    yield link._replace(relation="tests", resolver="name", confidence=_TEST_NAME_CONFIDENCE)

    def _is_tested(self, file: int, link: Link) -> bool:
        """Return whether a link leads from a test to code that is not a test."""
        role = self._program.get_role
        return role(file, link.scope) == "test" and role(link.file, link.index) != "test"

    def _link_documents(self, mentions: Sequence[tuple[str, int]]) -> Iterator[Link]:
        for name, line in mentions:
            last_name = name.rpartition(".")[2]
            self._program.record_key(f"name:*:{last_name}")
            declarations = [
                (file, index)
                for file, index in self._program.find_declarations(last_name)
                if f".{self._program.format_qualified_name(file, index)}".endswith(f".{name}")
            ]
            if len(declarations) == 1:
                file, index = declarations[0]
                confidence = 0.9 if "." in name else 0.7
                yield Link("documents", MODULE, file, index, "", "name", confidence, line)

    def _build_link(self, relation: EdgeRelation, scope: int, referent: Referent, line: int, file: int) -> Link:
        resolver = "scope" if referent.resolver == "scope" and referent.file == file else referent.resolver
        return Link(relation, scope, referent.file, referent.index, "", resolver, round(referent.confidence, 3), line)


def _is_whole_export(module: Referent | None, referent: Referent) -> bool:
    """Return whether the import of a module brings a declaration of it: what ``module.exports = ...`` assigns."""
    return (
        referent.kind == "definition" and module is not None and (module.kind, module.file) == ("module", referent.file)
    )


def _is_unnamed_member(definition: Definition) -> bool:
    """Return whether a method is in an anonymous object that is no declaration."""
    return bool(definition.owner) and ANONYMOUS_MODIFIER in definition.modifiers


def _is_named_after(test_name: str, subject_name: str) -> bool:
    """Return whether a test is named after a subject: ``test_login_fails`` and ``TestLogin`` after ``login`` and ``Login``."""
    words = test_name.replace("_", "").replace("-", "").replace(".", "").casefold()
    for affix in ("tests", "test", "spec", "should"):
        words = words.removeprefix(affix).removesuffix(affix)
    name = subject_name.replace("_", "").replace("-", "").casefold()
    return len(name) > 2 and words.startswith(name)


def _get_stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]
