"""Elixir: modules by their full names, wherever they are declared; functions by name and number of arguments."""

from collections.abc import Iterator, Sequence
from functools import cached_property

from coderag.codegraph.linking.overloads import can_take_arguments
from coderag.codegraph.linking.queries import ResolutionQueries
from coderag.codegraph.linking.referents import CALLABLE_KINDS, RESOLVER_PRECISION, TYPE_KINDS, Referent
from coderag.codegraph.linking.rules.base import LanguageRules
from coderag.codegraph.linking.rules.proximity import select_nearest
from coderag.codegraph.linking.rules.standard_names import read_names
from coderag.schema.facts import CALLBACK_MODIFIER, Definition

_USING_NAME = "__using__"
_USING_SUFFIX = f".{_USING_NAME}"
_MAX_USED_MACROS = 8
"""Maximum number of macros that run one another."""


class ElixirRules(LanguageRules):
    """Rules of Elixir."""

    languages = ("elixir",)
    self_names = ()
    self_type_names = ("__MODULE__",)
    super_names = ()
    factory_methods = ()
    has_implicit_receiver = False
    overloads_by_arity = True
    separates_methods = True
    common_methods = read_names("elixir", "common_methods")
    unique_method_confidence = 0.4  # a module in a variable is any of many implementations

    def resolve_module(self, file: int, module: str) -> Referent | None:
        """Return the module, or the function or macro of one, by its full name."""
        declaration = self._find_module(file, module)
        if declaration is None:
            owner, _, name = module.rpartition(".")
            declaration = self._find_module(file, owner) if owner and not name[:1].isupper() else None
            if declaration is not None:
                owner_file, index = declaration
                children = self.program.read_interface(owner_file).children.get(index, {})
                indices = children.get(name, ()) or (children.get("using", ()) if name == _USING_NAME else ())
                declaration = (owner_file, indices[0]) if indices else None
        return self._find_name(file, module) if declaration is None else Referent("definition", *declaration)

    def resolve_in_package(self, resolver: ResolutionQueries, file: int, name: str) -> Referent | None:
        """Return the module of a name, or the first part of the names of modules."""
        return self._find_name(file, name) if name[:1].isupper() else None

    def find_package_member(self, resolver: ResolutionQueries, package: str, name: str) -> Referent | None:
        """Return the module below a part of a name."""
        return self._find_name(-1, f"{package}.{name}")

    def find_implicit_member(self, resolver: ResolutionQueries, file: int, index: int, name: str) -> Referent | None:
        """Return a module below a module, or what a macro that the module uses gives to it."""
        definition = self.program.get_definition(file, index)
        if name[:1].isupper():
            return self._find_name(file, f"{definition.qualified_name}.{name}")
        for macro in self._iterate_used_macros(file, index):
            if (referent := self._find_macro_member(resolver, macro, name)) is not None:
                return referent.replace_resolver("inherited", RESOLVER_PRECISION["inherited"])
        return Referent("external", name=f"{definition.qualified_name}.{name}")

    def find_out_of_line_members(
        self, resolver: ResolutionQueries, file: int, index: int, name: str
    ) -> Sequence[tuple[int, int]]:
        """Return the declaration of a name in the code that a macro or function gives to other modules."""
        if self.program.get_definition(file, index).kind not in CALLABLE_KINDS:
            return ()
        referent = self._find_macro_member(resolver, (file, index), name)
        return [(referent.file, referent.index)] if referent is not None and referent.kind == "definition" else ()

    def find_out_of_line_bases(
        self, resolver: ResolutionQueries, file: int, index: int
    ) -> Iterator[tuple[Referent, int, str]]:
        """Yield the behaviours that a module gets from the macros that it uses."""
        for base in self.program.read_interface(file).bases.get(index, ()):
            if base.chain.endswith(_USING_SUFFIX):
                for macro_file, macro in self._iterate_macros(file, base.chain):
                    for behaviour, _, relation in resolver.resolve_bases(macro_file, macro):
                        yield behaviour, base.line, relation

    def find_overridden_member(
        self, resolver: ResolutionQueries, ancestor: Referent, definition: Definition
    ) -> Referent | None:
        """Return the callback of a behaviour, or the function of a protocol."""
        file, index = ancestor.file, ancestor.index
        if self.program.get_definition(file, index).kind == "interface":
            return super().find_overridden_member(resolver, ancestor, definition)
        interface = self.program.read_interface(file)
        for candidate in interface.children.get(index, {}).get(definition.name, ()):
            callback = interface.definitions[candidate]
            arity = callback.modifiers.rpartition("/")[2]
            if CALLBACK_MODIFIER in callback.modifiers and can_take_arguments(definition, int(arity)):
                return Referent("definition", file, candidate)
        return None

    def find_owner_types(
        self, resolver: ResolutionQueries, file: int, definition: Definition
    ) -> Sequence[tuple[int, int]]:
        """Return the type that an implementation of a protocol is for."""
        if definition.kind != "impl":
            return ()
        declaration = self._find_module(file, definition.name)
        return [] if declaration is None else [declaration]

    def is_type_like(self, definition: Definition) -> bool:
        """Return whether a declaration is a module."""
        return definition.kind == "namespace" and not definition.modifiers

    def has_members(self, definition: Definition) -> bool:
        """Return whether a declaration is code that other modules may use."""
        return definition.kind in CALLABLE_KINDS

    def _find_macro_member(self, resolver: ResolutionQueries, macro: tuple[int, int], name: str) -> Referent | None:
        """Return what the code in a macro declares or imports by a name."""
        file, index = macro
        if indices := resolver.find_scope_declarations(file, index, name):
            return Referent("definition", file, indices[0])
        bare_name = name.partition("/")[0]
        for import_ in self.program.read_interface(file).facts.imports:
            if import_.scope != index or (import_.name not in ("*", bare_name) and import_.alias != bare_name):
                continue
            module = self.resolve_module(file, import_.module)
            if module is None or module.kind != "definition" or (module.file, module.index) == macro:
                continue
            if not import_.name:
                return module
            referent = resolver.find_member(module, name)
            if referent is not None and referent.kind == "definition":
                return referent
        return None

    def _iterate_used_macros(self, file: int, index: int) -> Iterator[tuple[int, int]]:
        for base in self.program.read_interface(file).bases.get(index, ()):
            if base.chain.endswith(_USING_SUFFIX):
                yield from self._iterate_macros(file, base.chain)

    def _iterate_macros(self, file: int, chain: str) -> Iterator[tuple[int, int]]:
        """Yield the ``__using__`` macro of a name, and those that it runs."""
        pending = [(file, chain)]
        seen: set[tuple[int, int]] = set()
        while pending and len(seen) < _MAX_USED_MACROS:
            using_file, name = pending.pop(0)
            macro = self.resolve_module(using_file, name)
            if macro is None or macro.kind != "definition" or (macro.file, macro.index) in seen:
                continue
            seen.add((macro.file, macro.index))
            yield macro.file, macro.index
            imports = self.program.read_interface(macro.file).facts.imports
            pending += [
                (macro.file, entry.module)
                for entry in imports
                if entry.scope == macro.index and entry.module.endswith(_USING_SUFFIX)
            ]

    def _find_name(self, file: int, name: str) -> Referent:
        """Return the module of a full name, the first part of the names of modules, or an external module."""
        if (declaration := self._find_module(file, name)) is not None:
            return Referent("definition", *declaration, "", "import", RESOLVER_PRECISION["import"])
        self.program.record_key(f"namespace:elixir:{name}")
        if name in self._module_prefixes:
            return Referent("package", file if file >= 0 else self._any_file, name=name)
        return Referent("external", name=name)

    def _find_module(self, file: int, name: str) -> tuple[int, int] | None:
        """Return the module of a full name; of several declarations the one in a file, or the nearest to it."""
        name = name.removeprefix("Elixir.")
        declarations = [
            (other_file, index)
            for suffix in _iterate_suffixes(name)
            for other_file, index in self._find_declarations(suffix)
            if self.program.peek(other_file).definitions[index].qualified_name == name
        ]
        if not declarations:
            return None
        own = [declaration for declaration in declarations if declaration[0] == file]
        return own[0] if own else select_nearest(self.program, file, declarations)

    def _find_declarations(self, name: str) -> Sequence[tuple[int, int]]:
        """Return the modules that are declared by a name, which may be nested in others."""
        self.program.record_key(f"name:elixir:{name}")
        return [
            (file, index)
            for file, index in self.program.find_declarations(name, self.languages)
            if self._is_module(self.program.peek(file).definitions[index])
        ]

    def _is_module(self, definition: Definition) -> bool:
        return self.is_type_like(definition) or (
            definition.kind in TYPE_KINDS and definition.kind not in ("impl", "type_alias")
        )

    @cached_property
    def _module_prefixes(self) -> frozenset[str]:
        """Parts of the names of modules that others begin with."""
        prefixes: set[str] = set()
        for row in self.program.rows:
            for name in row.declares if row.language in self.languages else ():
                if "." in name and name[:1].isupper() and " " not in name:
                    parts = name.split(".")
                    prefixes.update(".".join(parts[:length]) for length in range(1, len(parts)))
        return frozenset(prefixes)

    @cached_property
    def _any_file(self) -> int:
        return next(file for file, row in enumerate(self.program.rows) if row.language in self.languages)


def _iterate_suffixes(name: str) -> Iterator[str]:
    """Yield a dotted name, then the names without their first parts."""
    while name:
        yield name
        name = name.partition(".")[2]
