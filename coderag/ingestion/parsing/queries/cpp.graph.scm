; What C++ has beyond c_family.graph.scm.

; Instances. In a function, `Lock guard(mutex);` reads as a prototype.
(new_expression type: (_) @new)
(declaration
  type: [(type_identifier) (qualified_identifier) (template_type)] @new
  declarator: [(identifier) (_ declarator: (identifier) value: [(argument_list) (initializer_list)])])
(compound_statement (declaration
  type: [(type_identifier) (qualified_identifier) (template_type)] @new
  declarator: (function_declarator declarator: (identifier))))
((template_function name: (identifier) @_make arguments: (_ . (type_descriptor type: (_) @new)))
  (#any-of? @_make "make_unique" "make_shared" "allocate_shared" "make_intrusive" "make_refcounted"))

; Types that a type extends.
(base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @base.inherits)

; Names from other namespaces.
(using_declaration "namespace" (_) @import.module) @import.all
(using_declaration (qualified_identifier name: (identifier) @import.alias) @import.name)

; Types.
(base_class_clause [(qualified_identifier) (template_type)] @type)
(trailing_return_type (type_descriptor type: (_) @returns))
(field_declaration type: (_) @returns declarator: [(function_declarator) (_ (function_declarator))])
(alias_declaration type: (type_descriptor type: (_) @returns))

; Words that change what a declaration means.
["virtual" (virtual_specifier)] @modifier
(field_declaration (storage_class_specifier) @modifier declarator: (function_declarator))
(enum_specifier ["class" "struct"] @modifier)
(field_declaration declarator: (function_declarator) default_value: (_) @defined)
[(default_method_clause) (delete_method_clause)] @defined
((function_definition !type declarator: (_ declarator: (identifier) @_macro)) @test
  (#match? @_macro "^(TYPED_)?TEST(_[FP])?$"))

; Names for values.
(parameter_declaration type: (_) @typed declarator: (reference_declarator (identifier) @bind))
(optional_parameter_declaration type: (_) @typed declarator: [
  (identifier) @bind
  (_ declarator: (identifier) @bind)
  (reference_declarator (identifier) @bind)
])
(declaration type: (_) @typed declarator: (_ declarator: (reference_declarator (identifier) @bind) value: (_) @value))
(for_range_loop type: (_) @typed declarator: [
  (identifier) @bind
  (_ declarator: (identifier) @bind)
  (_ (identifier) @bind)
] right: (_) @elements)
(field_declaration type: (_) @typed declarator: (reference_declarator (field_identifier) @bind.member))
(declaration type: (_) @typed declarator: [(identifier) @bind (_ (identifier) @bind)] value: (_) @value)
(template_parameter_list [
  (type_parameter_declaration (type_identifier) @bind.type)
  (variadic_type_parameter_declaration (type_identifier) @bind.type)
  (optional_type_parameter_declaration name: (type_identifier) @bind.type)
])
(structured_binding_declarator (identifier) @bind)
(lambda_capture_initializer left: (identifier) @bind right: (_) @value)

; Names mentioned as values.
[
  (argument_list (qualified_identifier) @read)
  (initializer_list (qualified_identifier) @read)
  (init_declarator value: (qualified_identifier) @read)
  (assignment_expression right: (qualified_identifier) @read)
  (return_statement (qualified_identifier) @read)
  (binary_expression (qualified_identifier) @read)
  (pointer_expression (qualified_identifier) @read)
  (conditional_expression (qualified_identifier) @read)
  (case_statement value: (qualified_identifier) @read)
  (subscript_argument_list [(identifier) (qualified_identifier)] @read)
]

; Where local names are known.
[(lambda_expression) (for_range_loop)] @block

; A field before a macro: `int count_ GUARDED_BY(mutex_);`.
(field_declaration type: (_) @typed (ERROR (identifier) @bind.member))
(field_declaration type: (_) @typed declarator: (pointer_declarator (ERROR (identifier) @bind.member)))
