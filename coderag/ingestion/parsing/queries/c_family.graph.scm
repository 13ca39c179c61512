; What the code graph needs of C, C++ and CUDA; the captures are explained in facts.py. Wildcards stand for the pointers and
; arrays of a declarator.

(call_expression function: (_) @call)
(compound_literal_expression type: (_) @new)

; Imports.
(preproc_include path: [(string_literal) (system_lib_string)] @import.module)

; Declarations that need another one: of a variable, and of a struct by its own name. `facts.py` finds the prototypes.
((declaration (storage_class_specifier) @_extern) @prototype (#eq? @_extern "extern"))
((type_definition type: (_ name: (_) @_tag !body) declarator: (_) @_name) @prototype (#eq? @_name @_tag))
(function_definition (storage_class_specifier) @modifier)

; Types.
(_ type: (type_identifier) @type)
(_ type: (_ name: (_) !body) @type)
(function_definition type: (_) @returns)
(declaration type: (_) @returns)
(type_definition type: (_ name: (_) !body) @returns)
(type_definition type: (type_identifier) @returns)

; Names for values.
(parameter_declaration type: (_) @typed declarator: [
  (identifier) @bind
  (_ declarator: (identifier) @bind)
  (_ declarator: (_ declarator: (identifier) @bind))
])
(declaration type: (_) @typed declarator: [
  (identifier) @bind
  (_ !value declarator: (identifier) @bind)
  (_ !value declarator: (_ declarator: (identifier) @bind))
])
(declaration type: (_) @typed declarator: (_ declarator: [
  (identifier) @bind
  (_ declarator: (identifier) @bind)
  (_ declarator: (_ declarator: (identifier) @bind))
] value: (_) @value))
(field_declaration type: (_) @typed declarator: [
  (field_identifier) @bind.member
  (_ !parameters declarator: (field_identifier) @bind.member)
  (_ !parameters declarator: (_ !parameters declarator: (field_identifier) @bind.member))
])
(initializer_pair designator: (field_designator (field_identifier) @bind.entry) value: [
  (identifier) @value
  (pointer_expression argument: (identifier) @value)
])
(preproc_params (identifier) @bind)
(preproc_def name: (identifier) @bind value: (_) @value (#match? @value "^\\s*[A-Za-z_]\\w*\\s*$"))

; Bodies of macros are plain text for the grammar.
(preproc_function_def value: (_) @text)
(preproc_def value: (_) @text)

; Names mentioned as values.
[
  (argument_list (identifier) @read)
  (initializer_list (identifier) @read)
  (initializer_pair value: (identifier) @read)
  (init_declarator value: (identifier) @read)
  (assignment_expression (identifier) @read)
  (return_statement (identifier) @read)
  (binary_expression (identifier) @read)
  (unary_expression (identifier) @read)
  (pointer_expression (identifier) @read)
  (update_expression (identifier) @read)
  (parenthesized_expression (identifier) @read)
  (conditional_expression (identifier) @read)
  (comma_expression (identifier) @read)
  (cast_expression (identifier) @read)
  (case_statement value: (identifier) @read)
  (subscript_expression (identifier) @read)
  (field_expression argument: (identifier) @read)
  (array_declarator size: (identifier) @read)
]

; Where local names are known.
[(compound_statement) (for_statement)] @block
