; Declarations.
(namespace_declaration name: (_) @name) @definition.namespace
(class_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(struct_declaration name: (identifier) @name) @definition.struct
(interface_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(enum_member_declaration name: (identifier) @name) @definition.field
(delegate_declaration name: (identifier) @name) @definition.type_alias
(method_declaration name: (identifier) @name) @definition.function
(constructor_declaration name: (identifier) @name) @definition.function
(destructor_declaration name: (identifier) @name) @definition.function
(local_function_statement name: (identifier) @name) @definition.function
(operator_declaration operator: _ @name) @definition.function
(conversion_operator_declaration type: (_) @name) @definition.function
(indexer_declaration "this" @name) @definition.function
(property_declaration name: (identifier) @name) @definition.field
(event_declaration name: (identifier) @name) @definition.field
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @definition.field
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @definition.field

; Extended and implemented types.
(base_list [
  (identifier) @base
  (generic_name (identifier) @base)
  (qualified_name name: (identifier) @base)
  (qualified_name name: (generic_name (identifier) @base))
  (primary_constructor_base_type type: [
    (identifier) @base
    (generic_name (identifier) @base)
    (qualified_name name: (identifier) @base)
  ])
])

; Imports.
(using_directive [(identifier) (qualified_name) (alias_qualified_name) (generic_name)] @import.source .) @import
(extern_alias_directive name: (identifier) @import.source) @import

; Calls.
(invocation_expression function: [
  (identifier) @call
  (generic_name (identifier) @call)
  (member_access_expression name: (identifier) @call)
  (member_access_expression name: (generic_name (identifier) @call))
  (conditional_access_expression (member_binding_expression name: (identifier) @call))
  (conditional_access_expression (member_binding_expression name: (generic_name (identifier) @call)))
])
(object_creation_expression type: [
  (identifier) @call
  (generic_name (identifier) @call)
  (qualified_name name: (identifier) @call)
  (qualified_name name: (generic_name (identifier) @call))
])

; Branches.
[
  (if_statement) (while_statement) (do_statement) (for_statement) (foreach_statement) (catch_clause) (conditional_expression)
  (switch_expression_arm)
] @branch
(switch_section "case" @branch)
["&&" "||"] @branch

(comment) @comment
