"""Rust: modules and crates, impl blocks in any file, trait methods."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from coderag.codegraph.linking.program import MODULE, Program
from coderag.codegraph.linking.queries import ResolutionQueries
from coderag.codegraph.linking.referents import RESOLVER_PRECISION, Referent
from coderag.codegraph.linking.rules.base import LanguageRules
from coderag.codegraph.linking.rules.rust_modules import RustModules
from coderag.codegraph.linking.rules.standard_names import read_names
from coderag.schema.facts import Definition, Import

_PATH_KEYWORDS: Final = frozenset({"crate", "self", "super"})
_ELEMENT_METHODS: Final = read_names("rust", "element_methods")  # fmt: skip
_COLLECTION_METHODS: Final = read_names("rust", "collection_methods")  # fmt: skip
_IDENTITY_METHODS: Final = read_names("rust", "identity_methods")  # fmt: skip


class RustRules(LanguageRules):
    """Rules of Rust."""

    languages = ("rust",)
    self_names = ("self",)
    self_type_names = ("Self",)
    super_names = ()
    has_implicit_receiver = False
    requires_qualified_members = True
    requires_declared_types = True
    calls_members_of_subtypes = False
    separates_modules = True
    builtins = read_names("rust", "builtins")  # fmt: skip
    wrapper_types = read_names("rust", "wrapper_types")  # fmt: skip
    collection_types = read_names("rust", "collection_types")  # fmt: skip
    first_argument_collections = frozenset({"Result", "LockResult"})
    common_methods: ClassVar[frozenset[str]] = (
        _ELEMENT_METHODS
        | _COLLECTION_METHODS
        | _IDENTITY_METHODS
        | {
            "abs", "add", "all", "and_then", "any", "append", "as_bytes", "as_ptr", "as_str", "build", "bytes",
            "call", "chars", "clear", "close", "cmp", "collect", "contains", "contains_key", "count", "display",
            "ends_with", "enumerate", "eq", "err", "extend", "fill", "filter_map", "finish", "flat_map", "flatten",
            "flush", "fmt", "fold", "for_each", "hash", "id", "index", "into", "is_empty", "is_err", "is_none",
            "is_ok", "is_some", "join", "key", "keys", "kind", "len", "lines", "map", "max", "merge", "min", "name",
            "ne", "now", "open", "parse", "partial_cmp", "path", "poll", "position", "push", "push_str", "push_back",
            "push_front", "reserve", "resize", "retain", "run", "seek", "set", "size", "sort", "sort_by",
            "sort_by_key", "source", "spawn", "split", "split_at", "start", "starts_with", "stop", "store", "sum",
            "swap", "to_lowercase", "to_string", "to_uppercase", "trim", "trim_end", "trim_start", "truncate",
            "try_from", "try_into", "update", "value", "wait", "with", "with_capacity", "write_all", "write_str",
            "zip", "parent", "file_name", "exists", "is_dir", "is_file", "args", "arg", "output", "status", "stdout",
            "stderr", "to_path_buf", "elapsed", "as_secs", "as_millis", "text", "end", "next_back", "remaining",
        }
    )  # fmt: skip

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._modules = RustModules(program)

    # Modules

    def resolve_module(self, file: int, module: str) -> Referent | None:
        """Return the module or type of a path, as seen from a file's module."""
        return self.program.memoize(
            "rust module", (file, module), lambda: self._modules.resolve_path(file, module.split("."))
        )

    def is_module_declaration(self, import_: Import) -> bool:
        """Return whether an import is ``mod name;``."""
        return not import_.name and import_.module.startswith("self.") and import_.module.endswith(f".{import_.alias}")

    def find_submodule(self, file: int, name: str) -> Referent | None:
        """Return the parent module for ``super``, or a macro of the crate."""
        if name == "super":
            parent = self._modules.find_parent(file)
            return None if parent is None else Referent("module", parent)
        return self._find_macro(file, name[:-1]) if name.endswith("!") else None

    def resolve_in_package(self, resolver: ResolutionQueries, file: int, name: str) -> Referent | None:
        """Return the first segment of a path: ``crate``, ``self``, ``super`` or a crate of the repository; or a macro."""
        if name in _PATH_KEYWORDS:
            referent = self._modules.resolve_path(file, [name])
            return referent if referent is not None and referent.kind == "module" else None
        if name.endswith("!"):
            return self._find_imported_macro(resolver, file, name[:-1]) or self._find_macro(file, name[:-1])
        library = self._modules.find_crate(file, name)
        return None if library is None else Referent("module", library)

    def resolve_import(self, resolver: ResolutionQueries, file: int, import_: Import) -> Referent | None:
        """Return the referent of an import, which may be a macro of another crate."""
        referent = super().resolve_import(resolver, file, import_)
        if (
            referent is None
            and import_.name
            and (module := self.resolve_module(file, import_.module)) is not None
            and module.kind == "module"
        ):
            return self._find_macro(module.file, import_.name)
        return referent

    def extract_package_name(self, name: str) -> str:
        """Return the crate of a path."""
        return name.partition(".")[0]

    def _find_imported_macro(self, resolver: ResolutionQueries, file: int, name: str) -> Referent | None:
        for import_ in self.program.read_interface(file).imports.get((MODULE, name), ()):
            referent = self.resolve_import(resolver, file, import_)
            if referent is not None and (referent.kind == "external" or self._is_macro(referent)):
                return referent
        return None

    def _is_macro(self, referent: Referent) -> bool:
        return (
            referent.kind == "definition" and self.program.get_definition(referent.file, referent.index).kind == "macro"
        )

    def _find_macro(self, file: int, name: str) -> Referent | None:
        """Return the macro of a name in a file, else in its crate, if it is unique."""
        self.program.record_key(f"name:rust:{name}")
        macros = self._find_by_kind("macro", name)
        own_macros = [macro for macro in macros if macro[0] == file]
        folder = self._modules.find_crate_folder(file)
        matches = own_macros[-1:] or [macro for macro in macros if self._modules.find_crate_folder(macro[0]) == folder]
        return (
            Referent("definition", *matches[0], resolver="package", confidence=RESOLVER_PRECISION["package"])
            if len(matches) == 1
            else None
        )

    # Types

    def find_owner_types(
        self, resolver: ResolutionQueries, file: int, definition: Definition
    ) -> Sequence[tuple[int, int]]:
        """Return the type of an impl block."""
        if definition.kind != "impl" or not definition.returns:
            return ()
        owner_type = self.program.memoize(
            "rust impl",
            (file, definition.parent, definition.returns),
            lambda: resolver.resolve_type_text(file, definition.parent, definition.returns, definition.start_line),
        )
        return [(owner_type.file, owner_type.index)] if owner_type is not None and owner_type.kind == "instance" else ()

    def find_out_of_line_members(
        self, resolver: ResolutionQueries, file: int, index: int, name: str
    ) -> Sequence[tuple[int, int]]:
        """Return a type's member from its impl blocks: an inherent one, else a trait's if it is unique."""
        inherent_members: list[tuple[int, int]] = []
        trait_members: list[tuple[int, int]] = []
        for impl_file, impl in self._iterate_implementations(resolver, file, index, name):
            interface = self.program.read_interface(impl_file)
            member_index = interface.children[impl][name][0]
            (trait_members if impl in interface.bases else inherent_members).append((impl_file, member_index))
        return inherent_members or (trait_members if len(trait_members) == 1 else ())

    def find_out_of_line_bases(
        self, resolver: ResolutionQueries, file: int, index: int
    ) -> Iterator[tuple[Referent, int, str]]:
        """Yield the traits that a type implements."""
        if self.program.get_definition(file, index).kind == "trait":
            return
        for impl_file, impl in self._iterate_implementations(resolver, file, index):
            yield from resolver.resolve_bases(impl_file, impl)

    def find_implicit_member(self, resolver: ResolutionQueries, file: int, index: int, name: str) -> Referent | None:
        """Return a method of standard traits and wrappers, if it returns the value itself."""
        kind = self.program.get_definition(file, index).kind
        if name in _IDENTITY_METHODS and kind in ("struct", "enum", "union"):
            return Referent("supplier", file, index)
        return None

    def find_collection_member(self, owner: Referent, name: str) -> Referent | None:
        """Return the result of a method of ``Option``, ``Result``, an iterator or a collection."""
        if name in _ELEMENT_METHODS:
            return Referent("supplier", owner.file, owner.index)
        return Referent("supplier", owner.file, owner.index, "elements") if name in _COLLECTION_METHODS else None

    def _iterate_implementations(
        self, resolver: ResolutionQueries, file: int, index: int, member: str = ""
    ) -> Iterator[tuple[int, int]]:
        """Yield the impl blocks of a type, as (file, index); only those with a member, if one is given."""
        definition = self.program.get_definition(file, index)
        if definition.kind not in ("struct", "enum", "union", "trait", "type_alias"):
            return
        self.program.record_key(f"name:rust:{definition.name}")
        for impl_file, impl in self._find_by_kind("impl", definition.name):
            interface = self.program.read_interface(impl_file)
            if member and member not in interface.children.get(impl, {}):
                continue
            if (file, index) in self.find_owner_types(resolver, impl_file, interface.definitions[impl]):
                yield impl_file, impl

    def _find_by_kind(self, kind: str, name: str) -> Sequence[tuple[int, int]]:
        """Return the macros of a name, or the impl blocks of types of that last name."""
        declarations = self.program.find_declarations(name, self.languages)
        return [
            (file, index) for file, index in declarations if self.program.peek(file).definitions[index].kind == kind
        ]
