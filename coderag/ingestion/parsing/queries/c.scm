; Functions. The wildcards are the pointers of a result. The third form is one defined through a macro, `TEST(name) {}`.
(function_definition declarator: [
  (function_declarator declarator: (identifier) @name)
  (_ (function_declarator declarator: (identifier) @name))
  (parenthesized_declarator (identifier) @name)
  (_ (_ (function_declarator declarator: (identifier) @name)))
  (function_declarator declarator: (parenthesized_declarator (identifier) @name))
  (_ (function_declarator declarator: (parenthesized_declarator (identifier) @name)))
  (function_declarator declarator: (parenthesized_declarator (_ (function_declarator declarator: (identifier) @name))))
]) @definition.function

; Prototypes.
(declaration declarator: [
  (function_declarator declarator: (identifier) @name)
  (_ (function_declarator declarator: (identifier) @name))
  (_ (_ (function_declarator declarator: (identifier) @name)))
  (function_declarator declarator: (parenthesized_declarator (identifier) @name))
]) @definition.function

; What is left of a function where macros or #if hide its shape: `EXPORT(int f(int a))`, or a header before an error.
(macro_type_specifier type: (type_descriptor
  type: (type_identifier) @name
  declarator: (abstract_function_declarator))) @definition.function
(ERROR (function_declarator declarator: (identifier) @name) @definition.function)

; Types. A typedef around a body is one declaration with it, under both names.
(struct_specifier name: (type_identifier) @name body: (_)) @definition.struct
(union_specifier name: (type_identifier) @name body: (_)) @definition.union
(enum_specifier name: (type_identifier) @name body: (_)) @definition.enum
(enumerator name: (identifier) @name) @definition.field
(type_definition type: (struct_specifier name: (type_identifier) @name body: (_) @body)) @definition.struct
(type_definition type: (union_specifier name: (type_identifier) @name body: (_) @body)) @definition.union
(type_definition type: (enum_specifier name: (type_identifier) @name body: (_) @body)) @definition.enum
(type_definition type: (struct_specifier !name body: (_) @body)) @definition.struct
(type_definition type: (union_specifier !name body: (_) @body)) @definition.union
(type_definition type: (enum_specifier !name body: (_) @body)) @definition.enum
(type_definition declarator: [
  (type_identifier) @name
  (primitive_type) @name
  (_ (type_identifier) @name)
  (_ (_ (type_identifier) @name))
  (function_declarator declarator: (parenthesized_declarator (_ (type_identifier) @name)))
  (_ (function_declarator declarator: (parenthesized_declarator (_ (type_identifier) @name))))
]) @definition.type_alias

; Macros. One without a value is an include guard or a switch.
(preproc_def name: (identifier) @name value: (_)) @definition.constant
(preproc_function_def name: (identifier) @name) @definition.macro

; Variables of a file.
(translation_unit (declaration declarator: [
  (identifier) @name
  (array_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (_ declarator: (identifier) @name))
  (function_declarator declarator: (parenthesized_declarator (_ declarator: (identifier) @name)))
  (init_declarator declarator: [
    (identifier) @name
    (_ declarator: (identifier) @name)
    (_ declarator: (_ declarator: (identifier) @name))
    (function_declarator declarator: (parenthesized_declarator (_ declarator: (identifier) @name)))
    (function_declarator declarator: (parenthesized_declarator (_ declarator: (_ declarator: (identifier) @name))))
  ])
]) @definition.variable)
(declaration_list (declaration declarator: (identifier) @name) @definition.variable)
(preproc_ifdef (declaration declarator: (init_declarator declarator: [
  (identifier) @name
  (_ declarator: (identifier) @name)
  (_ declarator: (_ declarator: (identifier) @name))
])) @definition.variable)

; Imports.
(preproc_include path: [
  (string_literal (string_content) @import.source)
  (system_lib_string) @import.source
  (identifier) @import.source
]) @import

; Calls.
(call_expression function: [
  (identifier) @call
  (field_expression field: (field_identifier) @call)
  (parenthesized_expression (pointer_expression argument: [(identifier) @call (_ field: (field_identifier) @call)]))
])

; Branches.
[(if_statement) (while_statement) (do_statement) (for_statement) (conditional_expression)] @branch
(case_statement value: (_)) @branch
["&&" "||"] @branch

(comment) @comment
