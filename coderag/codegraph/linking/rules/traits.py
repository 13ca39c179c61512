"""Traits of a language that name resolution depends on; the defaults hold for most languages."""

from collections.abc import Collection, Sequence
from typing import ClassVar

from coderag.codegraph.linking.referents import RESOLVER_PRECISION, TYPE_KINDS


class LanguageTraits:
    """Traits of a language.

    Attributes:
        languages: Names of the languages with these rules.
        interoperable_languages: Fully linked languages whose declarations these languages use.
        type_kinds: Kinds of declarations that have members and bases.
        self_names: Names of the receiver in a method, the first one also of the type itself in its own methods;
            ``self_type_names``, of its type; ``super_names``, of the base type.
        factory_methods: Names of undeclared methods of every type that create an instance.
        constructor_names: Names of the methods that an instantiation runs.
        builtins: Predeclared names.
        wrapper_types: Types with the members of their first type argument.
        collection_types: Collections of their last type argument; ``first_argument_collections``, of their first one.
        metatypes: Types whose values are types.
        has_implicit_receiver: Whether a bare name in a method may be a member of its type.
        hides_class_scope: Whether names in a type's body are invisible in its methods (Python).
        has_object_scope: Whether a bare lower-case name is a local variable or a method of the receiver, whatever the outer
            scopes declare; methods of the type itself are then apart from those of its instances (Ruby).
        requires_qualified_members: Whether names in a type's body are visible only as its members (Rust).
        overloads_by_arity: Whether the number of arguments selects an overload, see `coderag.schema.facts`.
        separates_methods: Whether a field and a method may share one name.
        has_extension_methods: Whether `find_extension_method` applies.
        overloads_types_by_arity: Whether the number of type parameters distinguishes types of one name.
        prefers_package_to_stars: Whether a file's package has precedence over star imports.
        inherits_nested_types: Whether nested types are visible in subtypes.
        requires_declared_types: Whether every type must be declared or imported by its name; any other type is external.
        hidden_kinds: Kinds of declarations that a bare name never refers to.
        has_block_scope: Whether a block may redeclare a name.
        has_ordered_file_scope: Whether a local declaration of a file is visible below it only.
        declares_before_use: Whether a local name of a function is visible below its declaration only.
        has_super_constructor_call: Whether a call of the base type's name alone is a constructor call: ``super(1)``.
        reexports_bind_names: Whether a re-exported name is visible in the file, too.
        separates_modules: Whether a module and another declaration may share one name; the module is the one with members.
        has_companions: Whether an object may share the name of a type; it is then the value of that name.
        has_argument_lists: Whether a call may have several argument lists: ``f(1)(2)``.
        call_method: Name of the method that a call of a value runs.
        separates_values: Whether a type and a value may share one name; the value is the one that is called or has members.
        calling_members: Members of a function that call it; empty where functions have no members.
        has_receiver_functions: Whether functions may have a receiver whose members are visible by their bare names, see
            `coderag.schema.facts.RECEIVER_NAME`; extensions of it are visible, too.
        overrides_fields: Whether a field can override another one.
        indexes_pointers: Whether a variable of a type may be an array or pointer, whose elements have that type (C).
        calls_members_of_subtypes: Whether a method may call undeclared methods that subtypes, the users of a mixin, declare.
        common_methods: Names so common that a single declaration is no evidence for a call.
        unique_method_confidence: Confidence that a call on an unknown receiver refers to the only visible method of its name.
    """

    languages: ClassVar[tuple[str, ...]] = ()
    interoperable_languages: ClassVar[tuple[str, ...]] = ()
    type_kinds: ClassVar[Collection[str]] = TYPE_KINDS
    self_names: ClassVar[Sequence[str]] = ("self", "this")
    self_type_names: ClassVar[Collection[str]] = ()
    factory_methods: ClassVar[Collection[str]] = ("new",)
    super_names: ClassVar[Collection[str]] = ("super", "base")
    constructor_names: ClassVar[Collection[str]] = ()
    builtins: ClassVar[Collection[str]] = frozenset()
    wrapper_types: ClassVar[Collection[str]] = frozenset()
    collection_types: ClassVar[Collection[str]] = frozenset()
    first_argument_collections: ClassVar[Collection[str]] = frozenset()
    metatypes: ClassVar[Collection[str]] = frozenset()
    has_implicit_receiver: ClassVar[bool] = True
    hides_class_scope: ClassVar[bool] = False
    has_object_scope: ClassVar[bool] = False
    requires_qualified_members: ClassVar[bool] = False
    overloads_by_arity: ClassVar[bool] = False
    separates_methods: ClassVar[bool] = False
    has_extension_methods: ClassVar[bool] = False
    overloads_types_by_arity: ClassVar[bool] = False
    prefers_package_to_stars: ClassVar[bool] = False
    inherits_nested_types: ClassVar[bool] = False
    requires_declared_types: ClassVar[bool] = False
    hidden_kinds: ClassVar[Collection[str]] = frozenset()
    has_block_scope: ClassVar[bool] = False
    has_ordered_file_scope: ClassVar[bool] = False
    declares_before_use: ClassVar[bool] = False
    has_super_constructor_call: ClassVar[bool] = False
    reexports_bind_names: ClassVar[bool] = True
    separates_modules: ClassVar[bool] = False
    separates_values: ClassVar[bool] = False
    has_companions: ClassVar[bool] = False
    has_argument_lists: ClassVar[bool] = False
    calling_members: ClassVar[Collection[str]] = ()
    has_receiver_functions: ClassVar[bool] = False
    overrides_fields: ClassVar[bool] = False
    call_method: ClassVar[str] = "__call__"
    indexes_pointers: ClassVar[bool] = False
    calls_members_of_subtypes: ClassVar[bool] = True
    common_methods: ClassVar[Collection[str]] = frozenset()
    unique_method_confidence: ClassVar[float] = RESOLVER_PRECISION["unique"]
