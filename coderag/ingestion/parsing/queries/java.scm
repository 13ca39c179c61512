; Declarations.
(module_declaration name: (_) @name) @definition.namespace
(class_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.interface
(annotation_type_declaration name: (identifier) @name) @definition.interface
(object_creation_expression type: (_) @name.anonymous (class_body) @definition.class @body)
(enum_declaration name: (identifier) @name) @definition.enum
(enum_constant name: (identifier) @name) @definition.field
(method_declaration name: (identifier) @name) @definition.function
(constructor_declaration name: (identifier) @name) @definition.function
(compact_constructor_declaration name: (identifier) @name) @definition.function
(annotation_type_element_declaration name: (identifier) @name) @definition.function
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.field
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.constant

; Extended and implemented types. A qualified one ends in its own name.
(superclass [
  (type_identifier) @base
  (generic_type (type_identifier) @base)
  (scoped_type_identifier (type_identifier) @base .)
  (generic_type (scoped_type_identifier (type_identifier) @base .))
])
(super_interfaces (type_list [
  (type_identifier) @base
  (generic_type (type_identifier) @base)
  (scoped_type_identifier (type_identifier) @base .)
  (generic_type (scoped_type_identifier (type_identifier) @base .))
]))
(extends_interfaces (type_list [
  (type_identifier) @base
  (generic_type (type_identifier) @base)
  (scoped_type_identifier (type_identifier) @base .)
  (generic_type (scoped_type_identifier (type_identifier) @base .))
]))

; Imports.
(import_declaration [(identifier) (scoped_identifier)] @import.source) @import
(requires_module_directive [(identifier) (scoped_identifier)] @import.source) @import

; Calls.
(method_invocation name: (identifier) @call)
(method_reference (identifier) @call .)
(object_creation_expression type: [
  (type_identifier) @call
  (generic_type (type_identifier) @call)
  (scoped_type_identifier (type_identifier) @call .)
  (generic_type (scoped_type_identifier (type_identifier) @call .))
])

; Branches.
[
  (if_statement) (while_statement) (do_statement) (for_statement) (enhanced_for_statement) (catch_clause) (ternary_expression)
] @branch
(switch_label "case" @branch)
["&&" "||"] @branch

[(line_comment) (block_comment)] @comment
