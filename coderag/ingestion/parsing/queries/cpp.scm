; The wildcards stand for the pointers and references of a result, and for what has a name: `a::b`, `b<c>`. A query of named
; nodes says the same, and takes several times as long to compile.

; Functions. A constructor has no type; neither has a test of GoogleTest, `TEST(Suite, Name) {}`, which is named for its
; arguments.
(template_declaration) @wrapper
(function_definition type: (_) declarator: [
  (_ declarator: [
    (identifier) @name (field_identifier) @name (operator_name) @name (_ name: (identifier) @name arguments: (_))
  ] parameters: (_))
  (_ (_ declarator: [(identifier) (field_identifier) (operator_name)] @name parameters: (_)))
  (_ declarator: (_ declarator: (_ declarator: (identifier) @name parameters: (_))))
]) @definition.function
((function_definition !type declarator: (_
  declarator: [(identifier) (field_identifier) (destructor_name) (operator_name)] @name parameters: (_))) @definition.function
  (#not-match? @name "^(TYPED_)?TEST(_[FP])?$|^BOOST_\\w+_TEST_CASE$"))
((function_definition !type declarator: (_
  declarator: (identifier) @_macro
  parameters: (_
    . (_ type: (type_identifier) @receiver)
    . (_ type: (type_identifier) @name) .))) @definition.function
  (#any-of? @_macro "TEST" "TEST_F" "TEST_P" "TYPED_TEST" "TYPED_TEST_P"))
((function_definition !type declarator: (_
  declarator: (identifier) @_macro
  parameters: (_ . (_ type: (type_identifier) @name)))) @definition.function
  (#any-of? @_macro "BOOST_AUTO_TEST_CASE" "BOOST_FIXTURE_TEST_CASE" "BOOST_AUTO_TEST_CASE_TEMPLATE"))

; Test cases that a string names, and what is nested in them: Catch2, doctest. The macro reads as a statement before a block.
([
    (expression_statement (call_expression function: (identifier) @_macro arguments: [
      (_ . (string_literal) @name) (_ . (identifier) . (string_literal) @name)
    ]))
    (ERROR (call_expression function: (identifier) @_macro arguments: (_ . (string_literal) @name)))
  ] @definition.case
  . (compound_statement) @definition.case @body
  (#any-of? @_macro
    "TEST_CASE" "TEST_CASE_METHOD" "TEST_CASE_FIXTURE" "TEMPLATE_TEST_CASE" "TEST_CASE_TEMPLATE" "SCENARIO" "SCENARIO_METHOD" "SECTION"
    "DYNAMIC_SECTION" "SUBCASE" "GIVEN" "WHEN" "AND_GIVEN" "AND_WHEN" "THEN" "AND_THEN"))
((expression_statement (call_expression function: (identifier) @_macro arguments: (_ . (string_literal) @name))) @definition.group
  . (compound_statement) @definition.group @body
  (#eq? @_macro "TEST_SUITE"))

; Functions defined outside their class or namespace, and conversions.
(function_definition declarator: [
  (_ declarator: [
    (_ scope: (_) @receiver name: [(identifier) (operator_name) (destructor_name)] @name)
    (_ scope: (_) @receiver name: (_ name: (identifier) @name arguments: (_)))
    (_ scope: (_)? @receiver name: [
      (_ scope: (_) @receiver name: [(identifier) (operator_name) (destructor_name)] @name)
      (_ scope: (_)? @receiver name: [
        (_ scope: (_) @receiver name: [(identifier) (operator_name) (destructor_name)] @name)
        (_ scope: (_)? @receiver name: (_ scope: (_) @receiver name: [(identifier) (operator_name) (destructor_name)] @name))
      ])
    ])
  ] parameters: (_))
  (_ (_ declarator: [
    (_ scope: (_) @receiver name: [(identifier) (operator_name)] @name)
    (_ scope: (_)? @receiver name: [
      (_ scope: (_) @receiver name: [(identifier) (operator_name)] @name)
      (_ scope: (_)? @receiver name: [
        (_ scope: (_) @receiver name: [(identifier) (operator_name)] @name)
        (_ scope: (_)? @receiver name: (_ scope: (_) @receiver name: (identifier) @name))
      ])
    ])
  ] parameters: (_)))
  (_ declarator: (_ declarator: (_ declarator: (_ scope: (_) @receiver name: (identifier) @name) parameters: (_))))
  (_ scope: (_) @receiver name: (operator_cast) @name)
  (operator_cast) @name
]) @definition.function

; Prototypes: of a class, and of a file or namespace. In a function, `Lock guard(mutex);` reads as one.
(field_declaration declarator: [
  (_ declarator: [(field_identifier) (operator_name)] @name parameters: (_))
  (_ (_ declarator: [(field_identifier) (operator_name)] @name parameters: (_)))
]) @definition.function
(field_declaration_list (declaration declarator: [
  (_ declarator: [(identifier) (destructor_name) (operator_name)] @name parameters: (_))
  (operator_cast) @name
]) @definition.function)
(template_declaration (_ !body declarator: [
  (_ declarator: [(identifier) (operator_name)] @name parameters: (_))
  (_ (_ declarator: [(identifier) (operator_name)] @name parameters: (_)))
]) @definition.function)
(translation_unit (declaration declarator: [
  (_ declarator: [(identifier) (operator_name)] @name parameters: (_))
  (_ (_ declarator: [(identifier) (operator_name)] @name parameters: (_)))
]) @definition.function)
(declaration_list (declaration declarator: [
  (_ declarator: [(identifier) (operator_name)] @name parameters: (_))
  (_ (_ declarator: [(identifier) (operator_name)] @name parameters: (_)))
]) @definition.function)
(preproc_ifdef (declaration declarator: [
  (_ declarator: [(identifier) (operator_name)] @name parameters: (_))
  (_ (_ declarator: [(identifier) (operator_name)] @name parameters: (_)))
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
(type_definition type: (_ "struct" name: (type_identifier) @name body: (_) @body)) @definition.struct
(type_definition type: (_ "union" name: (type_identifier) @name body: (_) @body)) @definition.union
(type_definition type: (_ "enum" name: (type_identifier) @name body: (_) @body)) @definition.enum
(type_definition type: (_ !name "struct" body: (_) @body)) @definition.struct
(type_definition type: (_ !name "union" body: (_) @body)) @definition.union
(type_definition type: (_ !name "enum" body: (_) @body)) @definition.enum
(type_definition declarator: [
  (type_identifier) @name
  (primitive_type) @name
  (_ (type_identifier) @name)
  (_ declarator: (_ "(" (_ (type_identifier) @name)) parameters: (_))
  (_ (_ declarator: (_ "(" (_ (type_identifier) @name)) parameters: (_)))
]) @definition.type_alias

; Macros. One without a value is an include guard or a switch.
(preproc_def name: (identifier) @name value: (_)) @definition.constant
(preproc_function_def name: (identifier) @name) @definition.macro

; Static members with a value, and variables of a file or namespace.
(field_declaration (storage_class_specifier) declarator: (field_identifier) @name default_value: (_)) @definition.field
(template_declaration (_ !body declarator: (_ declarator: (identifier) @name value: (_))) @definition.variable)
(translation_unit (declaration declarator: [
  (identifier) @name
  (_ declarator: [
    (identifier) @name
    (_ (identifier) @name)
    (_ scope: (_) @receiver name: (identifier) @name)
  ] value: (_))
]) @definition.variable)
(declaration_list (declaration declarator: [
  (identifier) @name
  (_ declarator: [
    (identifier) @name
    (_ (identifier) @name)
    (_ scope: (_) @receiver name: (identifier) @name)
  ] value: (_))
]) @definition.variable)
(preproc_ifdef (_ !body declarator: (_ declarator: [
  (identifier) @name
  (_ (identifier) @name)
] value: (_))) @definition.variable)

; Extended types.
(base_class_clause [
  (type_identifier) @base
  (_ name: (type_identifier) @base)
  (_ name: (_ name: (type_identifier) @base))
  (_ name: (_ name: (_ name: (type_identifier) @base)))
])

; Imports.
(preproc_include path: [
  (_ (string_content) @import.source)
  (system_lib_string) @import.source
  (identifier) @import.source
]) @import
(import_declaration [
  (module_name) @import.source
  (system_lib_string) @import.source
  (_ (string_content) @import.source)
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
