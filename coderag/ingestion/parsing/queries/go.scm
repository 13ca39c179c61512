; Declarations. What a type is made of says which kind it is.
(function_declaration name: (identifier) @name) @definition.function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: (_) @receiver))
  name: (field_identifier) @name) @definition.method
(type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @body)) @definition.struct
(type_spec name: (type_identifier) @name type: (interface_type)) @definition.interface
(type_spec name: (type_identifier) @name type: [
  (type_identifier) (qualified_type) (pointer_type) (array_type) (slice_type) (map_type) (channel_type) (function_type)
  (generic_type) (parenthesized_type)
]) @definition.type_alias
(type_alias name: (type_identifier) @name) @definition.type_alias
(method_elem name: (field_identifier) @name) @definition.method
(field_declaration name: (field_identifier) @name) @definition.field
(source_file (const_declaration (const_spec name: (identifier) @name) @definition.constant))
(source_file (var_declaration (var_spec name: (identifier) @name) @definition.variable))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @definition.variable)))
(type_declaration) @wrapper
(source_file (const_declaration) @wrapper)
(source_file (var_declaration) @wrapper)

; Embedded types.
(field_declaration !name type: [
  (type_identifier) @base
  (qualified_type name: (type_identifier) @base)
  (generic_type type: (type_identifier) @base)
])
(interface_type (type_elem . [
  (type_identifier) @base
  (qualified_type name: (type_identifier) @base)
] .))

; Imports.
(import_spec path: (_) @import.source) @import

; Calls.
(call_expression function: [
  (identifier) @call
  (selector_expression field: (field_identifier) @call)
  (index_expression operand: (identifier) @call)
  (index_expression operand: (selector_expression field: (field_identifier) @call))
  (generic_type type: (type_identifier) @call)
  (type_instantiation_expression type: (type_identifier) @call)
  (parenthesized_expression (identifier) @call)
])
(composite_literal type: [
  (type_identifier) @call
  (qualified_type name: (type_identifier) @call)
  (generic_type type: (type_identifier) @call)
])

; Branches.
[
  (if_statement) (for_statement) (expression_case) (type_case) (communication_case)
] @branch
(binary_expression operator: ["&&" "||"] @branch)

(comment) @comment
