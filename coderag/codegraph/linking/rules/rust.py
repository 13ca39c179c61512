"""Rust: modules and crates, implementations wherever they stand, methods of traits."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from coderag.codegraph.linking.meanings import SURENESS, Meaning
from coderag.codegraph.linking.program import MODULE, Program
from coderag.codegraph.linking.rules.base import Rules
from coderag.codegraph.linking.rules.rust_modules import Modules
from coderag.schema.facts import Definition, Import

if TYPE_CHECKING:
    from coderag.codegraph.linking.resolver import Resolver

_OWN_PATHS: Final = frozenset({"crate", "self", "super"})
_GIVE_ELEMENT: Final = frozenset(
    {
        "unwrap", "expect", "unwrap_or", "unwrap_or_else", "unwrap_or_default", "unwrap_unchecked",
        "get_or_insert_with", "or_default", "or_insert", "or_insert_with", "remove", "swap_remove",
    }
)  # fmt: skip
_GIVE_COLLECTION: Final = frozenset(
    {
        "iter", "iter_mut", "into_iter", "as_ref", "as_mut", "as_deref", "as_deref_mut", "take", "cloned", "copied",
        "ok", "ok_or", "ok_or_else", "map_err", "clone", "filter", "rev", "skip", "take_while", "skip_while", "get",
        "get_mut", "first", "last", "first_mut", "last_mut", "pop", "next", "find", "or_else", "or", "context",
        "with_context", "as_slice", "values", "values_mut", "into_values", "lock", "borrow", "borrow_mut", "read",
        "write", "drain", "chain", "peekable", "peek", "to_vec", "by_ref", "inspect", "entry", "max_by_key",
        "min_by_key", "nth", "pop_front", "pop_back", "front", "back", "step_by", "insert", "replace", "recv", "send",
        "await",
    }
)  # fmt: skip
_GIVE_ITSELF: Final = frozenset(
    {
        "clone", "to_owned", "as_ref", "as_mut", "borrow", "borrow_mut", "by_ref", "default", "lock", "unwrap",
        "expect", "deref", "deref_mut", "get_mut", "into_inner", "read", "write", "as_deref", "load", "upgrade",
        "downgrade", "new", "pin", "from",
    }
)  # fmt: skip


class RustRules(Rules):
    """Rust."""

    languages = ("rust",)
    instance_names = ("self",)
    type_names = ("Self",)
    base_names = ()
    members_in_scope = False
    types_are_no_scopes = True
    types_are_declared = True
    modules_apart = True
    builtins = frozenset(
        {
            "Some", "None", "Ok", "Err", "Box", "Vec", "String", "Option", "Result", "drop", "Default", "Clone",
            "Copy", "Send", "Sync", "Sized", "Drop", "Fn", "FnMut", "FnOnce", "Iterator", "IntoIterator", "Extend",
            "From", "Into", "TryFrom", "TryInto", "AsRef", "AsMut", "ToString", "ToOwned", "PartialEq", "Eq",
            "PartialOrd", "Ord", "Debug", "Hash", "std", "core", "alloc", "bool", "char", "str", "u8", "u16", "u32",
            "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64", "assert!", "assert_eq!",
            "assert_ne!", "cfg!", "column!", "compile_error!", "concat!", "dbg!", "debug_assert!", "debug_assert_eq!",
            "debug_assert_ne!", "env!", "eprint!", "eprintln!", "file!", "format!", "format_args!", "include!",
            "include_bytes!", "include_str!", "line!", "matches!", "module_path!", "option_env!", "panic!", "print!",
            "println!", "stringify!", "thread_local!", "todo!", "unimplemented!", "unreachable!", "vec!", "write!",
            "writeln!",
        }
    )  # fmt: skip
    wrappers = frozenset(
        {
            "Box", "Rc", "Arc", "Pin", "Mutex", "RwLock", "RefCell", "Cell", "Ref", "RefMut", "MutexGuard",
            "RwLockReadGuard", "RwLockWriteGuard", "ManuallyDrop", "OnceCell", "OnceLock", "LazyLock", "Lazy",
            "UnsafeCell", "NonNull", "AtomicPtr", "Reverse", "Wrapping",
        }
    )  # fmt: skip
    collections = frozenset(
        {
            "Vec", "VecDeque", "LinkedList", "HashSet", "BTreeSet", "IndexSet", "BinaryHeap", "HashMap", "BTreeMap",
            "IndexMap", "Option", "SmallVec", "Weak", "Receiver", "Sender",
        }
    )  # fmt: skip
    collections_of_first = frozenset({"Result", "LockResult"})
    common_methods: ClassVar[frozenset[str]] = (
        _GIVE_ELEMENT
        | _GIVE_COLLECTION
        | _GIVE_ITSELF
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
        self._modules = Modules(program)

    # Modules

    def module(self, file: int, module: str) -> Meaning | None:
        """Return the module, or the type, of a path as seen from a file's own module."""
        return self.program.remembered(
            "rust module", (file, module), lambda: self._modules.find(file, module.split("."))
        )

    def is_own_module(self, one: Import) -> bool:
        """Return whether an import is ``mod name;``."""
        return not one.name and one.module.startswith("self.") and one.module.endswith(f".{one.alias}")

    def submodule(self, file: int, name: str) -> Meaning | None:
        """Return the module around another one, or a macro of its crate."""
        if name == "super":
            above = self._modules.parent(file)
            return None if above is None else Meaning("module", above)
        return self._macro(file, name[:-1]) if name.endswith("!") else None

    def in_package_scope(self, resolver: "Resolver", file: int, name: str) -> Meaning | None:
        """Return what paths begin with: ``crate``, ``self``, ``super``, a crate of the repository; or a macro of the crate."""
        if name in _OWN_PATHS:
            found = self._modules.find(file, [name])
            return found if found is not None and found.kind == "module" else None
        if name.endswith("!"):
            return self._imported_macro(resolver, file, name[:-1]) or self._macro(file, name[:-1])
        library = self._modules.crate(file, name)
        return None if library is None else Meaning("module", library)

    def imported(self, resolver: "Resolver", file: int, one: Import) -> Meaning | None:
        """Return what an import brings, which may be a macro of another crate."""
        found = super().imported(resolver, file, one)
        if (
            found is None
            and one.name
            and (module := self.module(file, one.module)) is not None
            and module.kind == "module"
        ):
            return self._macro(module.file, one.name)
        return found

    def package_of(self, name: str) -> str:
        """Return the crate of a path."""
        return name.partition(".")[0]

    def _imported_macro(self, resolver: "Resolver", file: int, name: str) -> Meaning | None:
        for one in self.program.interface(file).imports.get((MODULE, name), ()):
            found = self.imported(resolver, file, one)
            if found is not None and (found.kind == "external" or self._is_macro(found)):
                return found
        return None

    def _is_macro(self, found: Meaning) -> bool:
        return found.kind == "definition" and self.program.definition(found.file, found.index).kind == "macro"

    def _macro(self, file: int, name: str) -> Meaning | None:
        """Return the macro of a name that a file or else its crate declares, if it is one."""
        self.program.note(f"name:rust:{name}")
        known = self._of_kind("macro", name)
        own = [one for one in known if one[0] == file]
        folder = self._modules.crate_folder(file)
        found = own[-1:] or [one for one in known if self._modules.crate_folder(one[0]) == folder]
        return (
            Meaning("definition", *found[0], resolver="package", confidence=SURENESS["package"])
            if len(found) == 1
            else None
        )

    # Types

    def owner_types(self, resolver: "Resolver", file: int, definition: Definition) -> Sequence[tuple[int, int]]:
        """Return the type that an implementation is of."""
        if definition.kind != "impl" or not definition.returns:
            return ()
        found = self.program.remembered(
            "rust impl",
            (file, definition.parent, definition.returns),
            lambda: resolver.instance(file, definition.parent, definition.returns, definition.start_line),
        )
        return [(found.file, found.index)] if found is not None and found.kind == "instance" else ()

    def outside_members(self, resolver: "Resolver", file: int, index: int, name: str) -> Sequence[tuple[int, int]]:
        """Return a type's member from its implementations: its own, else that of a trait, if it is one only."""
        own: list[tuple[int, int]] = []
        of_traits: list[tuple[int, int]] = []
        for other, impl in self._implementations(resolver, file, index, name):
            interface = self.program.interface(other)
            declared = interface.children[impl][name][0]
            (of_traits if impl in interface.bases else own).append((other, declared))
        return own or (of_traits if len(of_traits) == 1 else ())

    def outside_bases(self, resolver: "Resolver", file: int, index: int) -> Iterator[tuple[Meaning, int, str]]:
        """Yield the traits that a type implements."""
        if self.program.definition(file, index).kind == "trait":
            return
        for other, impl in self._implementations(resolver, file, index):
            yield from resolver.bases(other, impl)

    def implicit_member(self, resolver: "Resolver", file: int, index: int, name: str) -> Meaning | None:
        """Return a method that standard traits and wrappers give a type, if it gives the value itself."""
        kind = self.program.definition(file, index).kind
        if name in _GIVE_ITSELF and kind in ("struct", "enum", "union"):
            return Meaning("supplier", file, index)
        return None

    def member_of_elements(self, owner: Meaning, name: str) -> Meaning | None:
        """Return what ``Option``, ``Result``, iterators and collections give by a method."""
        if name in _GIVE_ELEMENT:
            return Meaning("supplier", owner.file, owner.index)
        return Meaning("supplier", owner.file, owner.index, "elements") if name in _GIVE_COLLECTION else None

    def _implementations(
        self, resolver: "Resolver", file: int, index: int, member: str = ""
    ) -> Iterator[tuple[int, int]]:
        """Yield a type's implementations, as (file, index); only those that have a member, if one is given."""
        definition = self.program.definition(file, index)
        if definition.kind not in ("struct", "enum", "union", "trait", "type_alias"):
            return
        self.program.note(f"name:rust:{definition.name}")
        for other, impl in self._of_kind("impl", definition.name):
            interface = self.program.interface(other)
            if member and member not in interface.children.get(impl, {}):
                continue
            if (file, index) in self.owner_types(resolver, other, interface.definitions[impl]):
                yield other, impl

    def _of_kind(self, kind: str, name: str) -> Sequence[tuple[int, int]]:
        """Return the macros of a name, or the implementations of types of that last name."""
        known = self.program.named(name, self.languages)
        return [(file, index) for file, index in known if self.program.peek(file).definitions[index].kind == kind]
