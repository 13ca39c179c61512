; Declarations. An attribute is a sibling before its declaration.
(function_item name: (identifier) @name) @definition.function
(function_signature_item name: (identifier) @name) @definition.function
(struct_item name: (type_identifier) @name) @definition.struct
(enum_item name: (type_identifier) @name) @definition.enum
(enum_variant name: (identifier) @name) @definition.field
(union_item name: (type_identifier) @name) @definition.union
(trait_item name: (type_identifier) @name) @definition.trait
(mod_item name: (identifier) @name body: (_)) @definition.namespace
(type_item name: (type_identifier) @name) @definition.type_alias
(associated_type name: (type_identifier) @name) @definition.type_alias
(const_item name: (identifier) @name) @definition.constant
(static_item name: (identifier) @name) @definition.variable
(macro_definition name: (identifier) @name) @definition.macro
(attribute_item) @attribute

; An implementation is named for its type, without arguments and references. What has a name is a path, what has arguments is
; generic: wildcards with these fields compile in a third of the time that the names of their nodes take.
(impl_item type: [
  (type_identifier) @name
  (_ type: (type_identifier) @name type_arguments: (_))
  (_ type: (_ name: (type_identifier) @name) type_arguments: (_))
  (_ name: (type_identifier) @name)
  (reference_type type: [
    (type_identifier) @name
    (_ type: (type_identifier) @name type_arguments: (_))
    (_ name: (type_identifier) @name)
    (primitive_type) @name
    (array_type) @name
    (dynamic_type) @name
    (tuple_type) @name
  ])
  (dynamic_type trait: [
    (type_identifier) @name
    (_ type: (type_identifier) @name type_arguments: (_))
    (_ name: (type_identifier) @name)
  ])
  (bounded_type (dynamic_type trait: [
    (type_identifier) @name
    (_ name: (type_identifier) @name)
  ]))
  (primitive_type) @name
  (array_type) @name
  (tuple_type) @name
  (unit_type) @name
  (pointer_type) @name
  (function_type) @name
  (metavariable) @name
]) @definition.impl

; What is declared inside the braces of a macro call (`cfg_rt! { pub fn spawn() {} }`) is tokens to the grammar: the call
; counts as the declaration, and has all their names.
(macro_invocation (token_tree "fn" . (identifier) @name) @body) @definition.function
(macro_invocation (_ (token_tree "fn" . (identifier) @name)) @body) @definition.function
(macro_invocation (token_tree "struct" . (identifier) @name) @body) @definition.struct
(macro_invocation (token_tree "enum" . (identifier) @name) @body) @definition.enum
(macro_invocation (token_tree "trait" . (identifier) @name) @body) @definition.trait
((macro_invocation macro: (identifier) @_macro (token_tree "static" . (identifier) @name) @body) @definition.variable
  (#any-of? @_macro "lazy_static" "thread_local" "task_local"))
((macro_invocation macro: (identifier) @_macro (_ (token_tree "const" . (identifier) @name)) @body) @definition.struct
  (#eq? @_macro "bitflags"))

; Implemented traits, and those a trait asks for.
(impl_item trait: [
  (type_identifier) @base
  (_ type: (type_identifier) @base type_arguments: (_))
  (_ type: (_ name: (type_identifier) @base) type_arguments: (_))
  (_ name: (type_identifier) @base)
])
(trait_item bounds: (trait_bounds [
  (type_identifier) @base
  (_ type: (type_identifier) @base type_arguments: (_))
  (_ type: (_ name: (type_identifier) @base) type_arguments: (_))
  (_ name: (type_identifier) @base)
]))

; Imports. A module without a body is another file.
(use_declaration argument: (_) @import.source) @import
(extern_crate_declaration name: (identifier) @import.source) @import
(mod_item name: (identifier) @import.source !body) @import

; Calls. Of a macro's arguments and of what it expands to only tokens are known: there a name before "(" is one.
(call_expression function: [
  (identifier) @call
  (_ name: (identifier) @call)
  (_ field: (field_identifier) @call)
  (generic_function function: [
    (identifier) @call
    (_ name: (identifier) @call)
    (_ field: (field_identifier) @call)
  ])
])
(struct_expression name: [(type_identifier) @call (_ name: (type_identifier) @call)])
(macro_invocation macro: [(identifier) @call (_ name: (identifier) @call)])
(macro_invocation (_ (identifier) @call . (_ . "(")))
(macro_invocation (_ (_ (identifier) @call . (_ . "("))))
(macro_invocation (_ (_ (_ (identifier) @call . (_ . "(")))))
(macro_rule right: (_ (identifier) @call . (_ . "(")))
(macro_rule right: (_ (_ (identifier) @call . (_ . "("))))

; Branches.
[(if_expression) (while_expression) (for_expression) (loop_expression) (match_arm)] @branch
(let_declaration alternative: (_) @branch)
["&&" "||"] @branch

[(line_comment) (block_comment)] @comment
