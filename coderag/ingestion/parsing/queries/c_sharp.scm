; Declarations.
(namespace_declaration name: (_) @name) @definition.namespace
; An extension block is a class with this name after its repair; its members belong to the class around it.
((class_declaration name: (identifier) @name) @definition.class (#not-eq? @name "___"))
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

; Extended and implemented types. The wildcards stand for what has a name or type arguments: they compile sooner than names do.
(base_list [
  (identifier) @base
  (_ . (identifier) @base . (type_argument_list))
  (_ qualifier: (_) name: (identifier) @base)
  (_ qualifier: (_) name: (_ . (identifier) @base . (type_argument_list)))
  (_ type: [
    (identifier) @base
    (_ . (identifier) @base . (type_argument_list))
    (_ qualifier: (_) name: (identifier) @base)
  ])
])

; Imports.
(using_directive [(identifier) (qualified_name) (alias_qualified_name) (generic_name)] @import.source .) @import
(extern_alias_directive name: (identifier) @import.source) @import

; Calls.
(invocation_expression function: [
  (identifier) @call
  (_ . (identifier) @call . (type_argument_list))
  (_ expression: _ name: (identifier) @call)
  (_ expression: _ name: (_ . (identifier) @call . (type_argument_list)))
  (_ condition: (_) (_ !expression name: (identifier) @call))
  (_ condition: (_) (_ !expression name: (_ . (identifier) @call . (type_argument_list))))
])
(object_creation_expression type: [
  (identifier) @call
  (_ . (identifier) @call . (type_argument_list))
  (_ qualifier: (_) name: (identifier) @call)
  (_ qualifier: (_) name: (_ . (identifier) @call . (type_argument_list)))
])

; Branches.
[
  (if_statement) (while_statement) (do_statement) (for_statement) (foreach_statement) (catch_clause) (conditional_expression)
  (switch_expression_arm)
] @branch
(switch_section "case" @branch)
["&&" "||"] @branch

(comment) @comment
