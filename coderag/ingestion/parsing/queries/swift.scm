; Declarations. A wildcard is what holds a name: it compiles in less time than the name of that node does.
(class_declaration ["class" "actor"] . (type_identifier) @name) @definition.class
(class_declaration "struct" . (type_identifier) @name) @definition.struct
(class_declaration "enum" . (type_identifier) @name) @definition.enum
(protocol_declaration name: (type_identifier) @name) @definition.interface
(enum_entry name: (simple_identifier) @name) @definition.field
(typealias_declaration name: (type_identifier) @name) @definition.type_alias
(associatedtype_declaration name: (type_identifier) @name) @definition.type_alias
(macro_declaration "macro" . (simple_identifier) @name) @definition.macro
(function_declaration "func" . name: _ @name) @definition.function
(protocol_function_declaration "func" . name: _ @name) @definition.function
(init_declaration "init" @name) @definition.function
(deinit_declaration "deinit" @name) @definition.function
(subscript_declaration "subscript" @name (computed_property)? @body) @definition.function
(protocol_property_declaration (_ bound_identifier: (simple_identifier) @name)) @definition.field

; An extension is named for its type, without arguments.
(class_declaration "extension" . [
  (_ (type_identifier)* @receiver . (type_identifier) @name . (type_arguments)? .)
  (array_type) @name
]) @definition.impl

; Properties, but none inside a function or a closure. One with code of its own is a function.
(source_file (_ name: (_ bound_identifier: (simple_identifier) @name)) @definition.variable)
(class_body (_ name: (_ bound_identifier: (simple_identifier) @name)) @definition.field)
(enum_class_body (_ name: (_ bound_identifier: (simple_identifier) @name)) @definition.field)
(property_declaration name: (_ bound_identifier: (simple_identifier) @name) computed_value: (_) @body) @definition.function

; Test cases and groups of them.
((call_expression
  . (simple_identifier) @_case
  (call_suffix (value_arguments . (_ (line_string_literal) @name)) (lambda_literal) @body)) @definition.case
  (#any-of? @_case "it" "fit" "xit" "test"))
((call_expression
  . (simple_identifier) @_group
  (call_suffix (value_arguments . (_ (line_string_literal) @name)) (lambda_literal) @body)) @definition.group
  (#any-of? @_group "describe" "context" "fdescribe" "fcontext" "xdescribe" "xcontext"))

; Extended and implemented types. A qualified one ends in its own name.
(inheritance_specifier (user_type (type_identifier) @base . (type_arguments)? .))

; Imports.
(import_declaration (identifier) @import.source) @import

; Calls.
(call_expression . [
  (simple_identifier) @call
  (_ (navigation_suffix (simple_identifier) @call))
  (_ . "." . (simple_identifier) @call)
  (_ . (_ (navigation_suffix (simple_identifier) @call)) . (bang))
])
(constructor_expression constructed_type: (_ (type_identifier) @call . (type_arguments)? .))
(macro_invocation . (simple_identifier) @call)

; Branches.
[
  (if_statement) (guard_statement) (for_statement) (while_statement) (repeat_while_statement) (catch_block) (ternary_expression)
] @branch
(switch_entry "case" @branch)
["&&" "||" "??"] @branch

[(comment) (multiline_comment)] @comment
