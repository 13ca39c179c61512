"""Ruby: constants by their qualified names in all files, reopened classes, mixins, methods of types and of instances."""

import posixpath
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

from coderag.codegraph.linking.import_paths import ImportResolver
from coderag.codegraph.linking.overloads import TYPE_LEVEL_SUFFIX
from coderag.codegraph.linking.program import MODULE
from coderag.codegraph.linking.queries import ResolutionQueries
from coderag.codegraph.linking.referents import CALLABLE_KINDS, DATA_KINDS, RESOLVER_PRECISION, TYPE_KINDS, Referent
from coderag.codegraph.linking.rules.base import LanguageRules
from coderag.codegraph.linking.rules.proximity import select_nearest
from coderag.codegraph.linking.rules.standard_names import read_names
from coderag.schema.facts import Definition

_MODULE_KIND = "namespace"
_FACTORY = "new"
_IDENTITY_METHODS = frozenset({"freeze", "dup", "clone", "itself", "tap"})
_RECORD_METHODS = read_names("ruby", "record_methods")
_RECORD_COLLECTIONS = read_names("ruby", "record_collections")
_SUFFIX = ".rb"


class RubyRules(LanguageRules):
    """Rules of Ruby.

    Constants need no ``require``: a constant is whatever has its qualified name in the repository, as an autoloader or a
    ``require`` anywhere would load it. Classes and modules are open, so that members may be declared in any file.
    """

    languages = ("ruby",)
    type_kinds = TYPE_KINDS | {_MODULE_KIND}
    self_names = ("self", "@", "@?")
    super_names = ("super",)
    constructor_names = ("initialize",)
    has_object_scope = True
    inherits_nested_types = True
    builtins = read_names("ruby", "builtins")
    common_methods: ClassVar[frozenset[str]] = read_names("ruby", "common_methods")
    unique_method_confidence = 0.4  # untyped values have methods of any name

    # Files

    def resolve_module(self, file: int, module: str) -> Referent | None:
        """Return the file of a required path, relative to the file or to a load path; or the module that a file includes."""
        path = module.strip("\"'").removesuffix(_SUFFIX)
        for part in path.split("/"):
            self.program.record_key(f"module:{part.partition('.')[0]}")
        if path.startswith("."):
            folder = posixpath.dirname(self.program.rows[file].path)
            target = self.program.file_by_path.get(posixpath.normpath(posixpath.join(folder, path)) + _SUFFIX)
            return None if target is None else Referent("module", target)
        files = self._load_paths.resolve(self._positions[file], path)
        if len(files) == 1:
            return Referent("module", self._files[files[0]])
        if files:
            return None
        constants = self._find_constants(file, module.replace("::", ".")) if module[:1].isupper() else ()
        return (
            Referent("definition", *self._select_part(file, constants))
            if constants
            else Referent("external", name=module)
        )

    def extract_package_name(self, name: str) -> str:
        """Return the path as written."""
        return name

    def find_visible_files(self, file: int) -> Sequence[int]:
        """Return the files that a file requires, and those that they require."""
        return self.program.memoize("ruby requires", file, lambda: self._find_required_files(file))

    def _find_required_files(self, file: int) -> Sequence[int]:
        direct = self._list_required(file)
        return list(dict.fromkeys([*direct, *(inner for other in direct for inner in self._list_required(other))]))

    def _list_required(self, file: int) -> list[int]:
        imports = self.program.read_interface(file).facts.imports
        targets = (self.resolve_module(file, import_.module) for import_ in imports)
        return [target.file for target in targets if target is not None and target.kind == "module"]

    # Names

    def resolve_in_package(self, resolver: ResolutionQueries, file: int, name: str) -> Referent | None:
        """Return the constant of a name at the top level, or a function that a required file defines there."""
        if name[0] == "@":
            return None
        if not name[0].isupper():
            return self._find_required_function(file, name)
        if name in self.builtins:
            return None
        visible_files = {file, *self.find_visible_files(file)}
        declarations = self._find_constants(file, name)
        if not visible_files.intersection(declaration[0] for declaration in declarations):
            declarations = self._find_included(file, name) or declarations
        if not declarations:
            return Referent("external", name=name)
        declaration = self._select_part(file, declarations)
        return Referent("definition", *declaration, "", "package", RESOLVER_PRECISION["package"])

    def find_scope_member(self, resolver: ResolutionQueries, file: int, scope: int, name: str) -> Referent | None:
        """Return the constant of a name in any file's part of a class or module."""
        definition = self.program.get_definition(file, scope)
        if definition.kind not in self.type_kinds or not name[:1].isupper():
            return None
        declarations = self._find_constants(file, f"{definition.qualified_name}.{name}")
        if not declarations:
            return None
        declaration = self._select_part(file, declarations)
        return Referent("definition", *declaration, "", "package", RESOLVER_PRECISION["package"])

    def find_out_of_line_members(
        self, resolver: ResolutionQueries, file: int, index: int, name: str
    ) -> Sequence[tuple[int, int]]:
        """Return the members of a name in other parts of a class or module."""
        definition = self.program.get_definition(file, index)
        if definition.kind not in self.type_kinds or name[:1] == "@":
            return ()
        bare_name = name.removesuffix(TYPE_LEVEL_SUFFIX)
        declarations = self._find_parts(file, f"{definition.qualified_name}.{bare_name}", definition.kind)
        if len(declarations) <= 1 and bare_name == name:
            return declarations
        definitions = [self.program.get_definition(*declaration) for declaration in declarations]
        positions = self._select(definitions, range(len(declarations)), name, definition.kind)
        selected = [declarations[position] for position in positions]
        return [select_nearest(self.program, file, selected)] if selected else ()

    def find_other_parts(self, resolver: ResolutionQueries, file: int, index: int) -> Sequence[tuple[int, int]]:
        """Return the other declarations of a class or module."""
        definition = self.program.get_definition(file, index)
        if definition.kind not in ("class", _MODULE_KIND):
            return ()
        parts = self._find_parts(file, definition.qualified_name, definition.kind)
        return [part for part in parts if part != (file, index)]

    def select_declarations(
        self, definitions: Sequence[Definition], indices: Sequence[int], name: str
    ) -> Sequence[int]:
        """Return the methods of the type itself for a name at type level, else those of instances if there are any."""
        if definitions[indices[0]].kind not in CALLABLE_KINDS or definitions[indices[0]].parent == MODULE:
            return indices
        return self._select(definitions, indices, name, definitions[definitions[indices[0]].parent].kind)

    def is_type_level(self, file: int, scope: int) -> bool:
        """Return whether the receiver in a scope is the class or module itself."""
        definitions = self.program.read_interface(file).definitions
        while scope != MODULE:
            definition = definitions[scope]
            if definition.kind in CALLABLE_KINDS:
                return "static" in definition.modifiers.split()
            if definition.kind in self.type_kinds:
                return True
            scope = definition.parent
        return False

    def find_implicit_member(self, resolver: ResolutionQueries, file: int, index: int, name: str) -> Referent | None:
        """Return ``new`` of a class, the attribute of a setter, or a method that every object has."""
        attribute, is_setter, level = name.partition("=")
        if is_setter and attribute.isidentifier():
            referent = resolver.find_own_member(file, index, attribute + level)
            is_field = referent is not None and referent.kind == "definition" and self._is_field(referent)
            return referent if is_field else None
        if name == _FACTORY + TYPE_LEVEL_SUFFIX:
            is_class = self.program.get_definition(file, index).kind == "class"
            return Referent("supplier", file, index) if is_class else None
        kind = self._get_record_kind(name) if name.endswith(TYPE_LEVEL_SUFFIX) else None
        if kind is not None and self._is_inherited_externally(resolver, file, index, name):
            return Referent("supplier", file, index, kind, "return", RESOLVER_PRECISION["union"])
        if name == "class":
            return Referent("definition", file, index)
        return Referent("supplier", file, index) if name in _IDENTITY_METHODS else None

    def find_collection_member(self, owner: Referent, name: str) -> Referent | None:
        """Return a method of a collection of records that returns a record, or a collection of the same records."""
        kind = self._get_record_kind(name)
        return None if kind is None else Referent("supplier", owner.file, owner.index, kind, "return", owner.confidence)

    def order_bases(self, bases: Sequence[Referent]) -> Sequence[Referent]:
        """Return the bases of a type in the order of method lookup: mixins first, the last one before the others."""
        mixins = [base for base in bases if base.kind == "definition" and self._is_module(base)]
        return [*mixins[::-1], *(base for base in bases if base not in mixins)]

    def is_property(self, definition: Definition) -> bool:
        """Return whether a method is used like a field: a call needs no parentheses."""
        return True

    def _get_record_kind(self, name: str) -> str | None:
        """Return ``elements`` for a method that returns records, an empty string for one record, None for any other."""
        bare_name = name.removesuffix(TYPE_LEVEL_SUFFIX)
        if bare_name in _RECORD_METHODS:
            return ""
        return "elements" if bare_name in _RECORD_COLLECTIONS else None

    def _is_inherited_externally(self, resolver: ResolutionQueries, file: int, index: int, name: str) -> bool:
        """Return whether a class has a member only from a base outside the repository, such as that of all records."""
        ancestors = resolver.find_ancestors(file, index)
        return any(ancestor.kind == "external" for ancestor in ancestors) and not any(
            resolver.find_scope_declarations(ancestor.file, ancestor.index, name)
            for ancestor in ancestors
            if ancestor.kind == "definition"
        )

    def _is_module(self, referent: Referent) -> bool:
        return self.program.get_definition(referent.file, referent.index).kind == _MODULE_KIND

    def _is_field(self, referent: Referent) -> bool:
        return self.program.get_definition(referent.file, referent.index).kind in DATA_KINDS

    def _select(
        self, definitions: Sequence[Definition], indices: Sequence[int], name: str, owner_kind: str
    ) -> Sequence[int]:
        """Return the declarations of one name that a name may refer to; see `select_declarations`."""
        of_type = [index for index in indices if "static" in definitions[index].modifiers.split()]
        if not name.endswith(TYPE_LEVEL_SUFFIX):
            return [index for index in indices if index not in of_type] or indices
        if of_type or owner_kind == _MODULE_KIND:  # a module may extend itself
            return of_type or indices
        return [index for index in indices if definitions[index].kind not in CALLABLE_KINDS]

    def _find_constants(self, file: int, qualified_name: str) -> Sequence[tuple[int, int]]:
        """Return the declarations of a constant; those of tests only if there are no others, or from a test."""
        declarations = self._find_qualified(qualified_name)
        own_role = self.program.rows[file].role
        if len(declarations) <= 1 or own_role == "test":
            return declarations
        return [entry for entry in declarations if self.program.rows[entry[0]].role != "test"] or declarations

    def _select_part(self, file: int, declarations: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """Return the declaration in the file that is named after the constant; else the nearest to a file."""
        name = self.program.get_definition(*declarations[0]).name.lower()
        own_file = [
            declaration
            for declaration in declarations
            if posixpath.basename(self.program.rows[declaration[0]].path).partition(".")[0].replace("_", "") == name
        ]
        return select_nearest(self.program, file, own_file or declarations)

    def _find_parts(self, file: int, qualified_name: str, owner_kind: str) -> Sequence[tuple[int, int]]:
        """Return the declarations of a qualified name; without those of other tests, whose classes are their own."""
        return [
            declaration
            for declaration in self._find_qualified(qualified_name)
            if owner_kind == _MODULE_KIND or declaration[0] == file or self.program.rows[declaration[0]].role != "test"
        ]

    def _find_qualified(self, qualified_name: str) -> Sequence[tuple[int, int]]:
        """Return the members of types and the top-level declarations with a qualified name, in all files."""
        name = qualified_name.rpartition(".")[2]
        self.program.record_key(f"name:ruby:{name}")
        if name not in self._declarations_by_name:
            declarations: dict[str, list[tuple[int, int]]] = {}
            for file, index in self.program.find_declarations(name, self.languages):
                definitions = self.program.peek(file).definitions
                definition = definitions[index]
                if definition.parent == MODULE or definitions[definition.parent].kind in self.type_kinds:
                    declarations.setdefault(definition.qualified_name, []).append((file, index))
            self._declarations_by_name[name] = declarations
        return self._declarations_by_name[name].get(qualified_name, ())

    def _find_included(self, file: int, name: str) -> Sequence[tuple[int, int]]:
        """Return the constant of a module that the file, or one that it requires, includes at the top level."""
        for other in (file, *self.find_visible_files(file)):
            for import_ in self.program.read_interface(other).star_imports:
                if declarations := self._find_constants(file, f"{import_.module.replace('::', '.')}.{name}"):
                    return declarations
        return ()

    def _find_required_function(self, file: int, name: str) -> Referent | None:
        bare_name = name.removesuffix(TYPE_LEVEL_SUFFIX)
        for other in self.find_visible_files(file):
            if indices := self.program.read_interface(other).children.get(MODULE, {}).get(bare_name):
                return Referent("definition", other, indices[-1], "", "import", RESOLVER_PRECISION["import"])
        return None

    @cached_property
    def _declarations_by_name(self) -> dict[str, dict[str, list[tuple[int, int]]]]:
        return {}

    @cached_property
    def _files(self) -> list[int]:
        return [file for file, row in enumerate(self.program.rows) if row.language in self.languages]

    @cached_property
    def _positions(self) -> dict[int, int]:
        """Position of each Ruby file among them."""
        return {file: position for position, file in enumerate(self._files)}

    @cached_property
    def _load_paths(self) -> ImportResolver:
        return ImportResolver([self.program.rows[file].path for file in self._files])
