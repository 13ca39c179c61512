; The wildcards stand for the pointers and references of a result, and for what has a name: `a::b`, `b<c>`. A query of named
; nodes says the same, and takes several times as long to compile.

; Functions. A constructor has no type; neither has a test of GoogleTest, `TEST(Suite, Name) {}`, which is named for its
; arguments.
(template_declaration) @wrapper
(function_definition type: (_) declarator: [
  (function_declarator declarator: [
    (identifier) @name (field_identifier) @name (operator_name) @name (template_function name: (identifier) @name)
  ])
  (_ (function_declarator declarator: [(identifier) (field_identifier) (operator_name)] @name))
  (_ declarator: (_ declarator: (function_declarator declarator: (identifier) @name)))
]) @definition.function
((function_definition !type declarator: (function_declarator
  declarator: [(identifier) (field_identifier) (destructor_name) (operator_name)] @name)) @definition.function
  (#not-match? @name "^(TYPED_)?TEST(_[FP])?$"))
((function_definition !type declarator: (function_declarator
  declarator: (identifier) @_macro
  parameters: (parameter_list
    . (parameter_declaration type: (type_identifier) @receiver)
    . (parameter_declaration type: (type_identifier) @name) .))) @definition.function
  (#any-of? @_macro "TEST" "TEST_F" "TEST_P" "TYPED_TEST" "TYPED_TEST_P"))
(function_definition declarator: (operator_cast) @name) @definition.function

; Functions defined outside their class or namespace.
(function_definition declarator: [
  (function_declarator declarator: [
    (_ scope: (_) @receiver name: [(identifier) (operator_name) (destructor_name)] @name)
    (_ scope: (_) @receiver name: (template_function name: (identifier) @name))
    (_ name: [
      (_ scope: (_) @receiver name: [(identifier) (operator_name) (destructor_name)] @name)
      (_ name: [
        (_ scope: (_) @receiver name: [(identifier) (operator_name) (destructor_name)] @name)
        (_ name: (_ scope: (_) @receiver name: [(identifier) (operator_name) (destructor_name)] @name))
      ])
    ])
  ])
  (_ (function_declarator declarator: [
    (_ scope: (_) @receiver name: [(identifier) (operator_name)] @name)
    (_ name: [
      (_ scope: (_) @receiver name: [(identifier) (operator_name)] @name)
      (_ name: [
        (_ scope: (_) @receiver name: [(identifier) (operator_name)] @name)
        (_ name: (_ scope: (_) @receiver name: (identifier) @name))
      ])
    ])
  ]))
  (_ declarator: (_ declarator: (function_declarator declarator: (_ scope: (_) @receiver name: (identifier) @name))))
  (_ scope: (_) @receiver name: (operator_cast) @name)
]) @definition.function

; Prototypes: of a class, and of a file or namespace. In a function, `Lock guard(mutex);` reads as one.
(field_declaration declarator: [
  (function_declarator declarator: [(field_identifier) (operator_name)] @name)
  (_ (function_declarator declarator: [(field_identifier) (operator_name)] @name))
]) @definition.function
(field_declaration_list (declaration declarator: [
  (function_declarator declarator: [(identifier) (destructor_name) (operator_name)] @name)
  (operator_cast) @name
]) @definition.function)
(template_declaration (declaration declarator: [
  (function_declarator declarator: [(identifier) (operator_name)] @name)
  (_ (function_declarator declarator: [(identifier) (operator_name)] @name))
]) @definition.function)
(translation_unit (declaration declarator: [
  (function_declarator declarator: [(identifier) (operator_name)] @name)
  (_ (function_declarator declarator: [(identifier) (operator_name)] @name))
]) @definition.function)
(declaration_list (declaration declarator: [
  (function_declarator declarator: [(identifier) (operator_name)] @name)
  (_ (function_declarator declarator: [(identifier) (operator_name)] @name))
]) @definition.function)
(preproc_ifdef (declaration declarator: [
  (function_declarator declarator: [(identifier) (operator_name)] @name)
  (_ (function_declarator declarator: [(identifier) (operator_name)] @name))
]) @definition.function)
(ERROR (function_declarator declarator: (identifier) @name) @definition.function)

; Types. A typedef around a body is one declaration with it, under both names.
(namespace_definition name: (_) @name) @definition.namespace
(namespace_alias_definition name: (namespace_identifier) @name) @definition.type_alias
(class_specifier name: [
  (type_identifier) @name (_ name: (type_identifier) @name) (_ name: (_ name: (type_identifier) @name))
] body: (_)) @definition.class
(struct_specifier name: [
  (type_identifier) @name (_ name: (type_identifier) @name) (_ name: (_ name: (type_identifier) @name))
] body: (_)) @definition.struct
; `class EXPORT Name : Base {}` reads as a function.
(function_definition type: (class_specifier) declarator: (identifier) @name) @definition.class
(function_definition type: (struct_specifier) declarator: (identifier) @name) @definition.struct
(function_definition type: (class_specifier) (ERROR (identifier) @base .))
(union_specifier name: (type_identifier) @name body: (_)) @definition.union
(enum_specifier name: (type_identifier) @name body: (_)) @definition.enum
(enumerator name: (identifier) @name) @definition.field
(concept_definition name: (identifier) @name) @definition.trait
(alias_declaration name: (type_identifier) @name) @definition.type_alias
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
  (function_declarator declarator: (parenthesized_declarator (_ (type_identifier) @name)))
  (_ (function_declarator declarator: (parenthesized_declarator (_ (type_identifier) @name))))
]) @definition.type_alias

; Macros. One without a value is an include guard or a switch.
(preproc_def name: (identifier) @name value: (_)) @definition.constant
(preproc_function_def name: (identifier) @name) @definition.macro

; Static members with a value, and variables of a file or namespace.
(field_declaration (storage_class_specifier) declarator: (field_identifier) @name default_value: (_)) @definition.field
(template_declaration (declaration declarator: (init_declarator declarator: (identifier) @name)) @definition.variable)
(translation_unit (declaration declarator: [
  (identifier) @name
  (init_declarator declarator: [
    (identifier) @name
    (_ (identifier) @name)
    (_ scope: (_) @receiver name: (identifier) @name)
  ])
]) @definition.variable)
(declaration_list (declaration declarator: [
  (identifier) @name
  (init_declarator declarator: [
    (identifier) @name
    (_ (identifier) @name)
    (_ scope: (_) @receiver name: (identifier) @name)
  ])
]) @definition.variable)
(preproc_ifdef (declaration declarator: (init_declarator declarator: [
  (identifier) @name
  (_ (identifier) @name)
])) @definition.variable)

; Extended types.
(base_class_clause [
  (type_identifier) @base
  (_ name: (type_identifier) @base)
  (_ name: (_ name: (type_identifier) @base))
  (_ name: (_ name: (_ name: (type_identifier) @base)))
])

; Imports.
(preproc_include path: [
  (string_literal (string_content) @import.source)
  (system_lib_string) @import.source
  (identifier) @import.source
]) @import
(import_declaration [
  (module_name) @import.source
  (system_lib_string) @import.source
  (string_literal (string_content) @import.source)
]) @import

; Calls.
(call_expression function: [
  (identifier) @call
  (field_expression field: [
    (field_identifier) @call (_ name: (field_identifier) @call) (_ (_ name: (field_identifier) @call))
  ])
  (_ name: (identifier) @call)
  (_ name: (_ name: (identifier) @call))
  (_ name: (_ name: (_ name: (identifier) @call)))
])
(new_expression type: [
  (type_identifier) @call (_ name: (type_identifier) @call) (_ name: (_ name: (type_identifier) @call))
])
(compound_literal_expression type: [
  (type_identifier) @call (_ name: (type_identifier) @call) (_ name: (_ name: (type_identifier) @call))
])

; Branches.
[
  (if_statement) (while_statement) (do_statement) (for_statement) (for_range_loop) (catch_clause) (conditional_expression)
] @branch
(case_statement value: (_)) @branch
(binary_expression operator: ["&&" "||" "and" "or"] @branch)

(comment) @comment
