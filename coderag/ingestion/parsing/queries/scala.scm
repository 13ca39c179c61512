; Declarations. The body of a function begins at its "=".
(package_clause name: (_) @name body: (_) @body) @definition.namespace
(package_object name: (_) @name) @definition.namespace
(class_definition name: (_) @name) @definition.class
(object_definition name: (_) @name) @definition.class
(trait_definition name: (_) @name) @definition.trait
(enum_definition name: (_) @name) @definition.enum
(enum_case_definitions (_ name: (_) @name)) @definition.field
(type_definition name: (_) @name) @definition.type_alias
(function_definition name: (_) @name ["=" @body]?) @definition.function
(function_declaration name: (_) @name) @definition.function

; Parameters of a class that are its members.
(class_definition "case" . "class" . (_) . (_ . "(" (_ name: (_) @name) @definition.field))
(class_definition "case" . "class" . (_) . (type_parameters) . (_ . "(" (_ name: (_) @name) @definition.field))
(class_parameter ["val" "var"] . name: (_) @name) @definition.field

; Values and variables, but none inside a function or a block.
(compilation_unit (_ pattern: [(identifier) @name (identifiers (identifier) @name)]) @definition.variable)
(template_body (_ pattern: [(identifier) @name (identifiers (identifier) @name)]) @definition.field)
(with_template_body (_ pattern: (identifier) @name) @definition.field)
(val_declaration name: (identifier) @name) @definition.field

; Implementations: a value that is an instance of a class without a name, as those of type classes are, a given instance,
; and an extension, which is named for its type.
(val_definition pattern: (identifier) @name value: [
  (_ . "new" (template_body) @body)
  (indented_block . (_ . "new" (template_body) @body) .)
]) @definition.impl
(given_definition name: (_) @name) @definition.impl
(given_definition !name return_type: [(type_identifier) @name (_ type: (_) @name type_arguments: (_))]) @definition.impl
(extension_definition (_ . "(" . (_ name: (_) type: [(type_identifier) @name (_ type: (_) @name type_arguments: (_))]))) @definition.impl

; Test cases and groups of them.
((call_expression
  function: (_ function: (identifier) @_case arguments: (_ . [(string) @name (_ (string) @name)]))
  arguments: (block) @body) @definition.case
  (#any-of? @_case "test" "it" "they" "property" "scenario" "ignore" "testAsync" "Scenario"))
((call_expression
  function: (_ function: (identifier) @_group arguments: (_ . (string) @name)) arguments: (block) @body) @definition.group
  (#any-of? @_group "describe" "feature" "Feature" "suite"))
((infix_expression
  left: [
    (string) @name
    (infix_expression left: [(string) (identifier)] @name operator: (identifier) @_verb @name right: (string) @name)
    (call_expression function: (identifier) @_test arguments: (_ . (string) @name))
  ]
  operator: (_) @_in
  right: (block) @body) @definition.case
  (#any-of? @_in "in" ">>" "-" "ignore")
  (#any-of? @_verb "should" "must" "can")
  (#eq? @_test "test"))
((infix_expression left: (string) @name operator: (identifier) @_verb right: (block) @body) @definition.group
  (#any-of? @_verb "should" "must" "can" "when" "which" "that"))

; Extended and implemented types. A qualified one ends in its own name.
(extends_clause [
  (type_identifier) @base
  (generic_type . [(type_identifier) @base (_ (type_identifier) @base .)])
  (stable_type_identifier (type_identifier) @base)
])
(val_definition (_ . "new" [
  (type_identifier) @base
  (_ . (type_identifier) @base)
  (compound_type [(type_identifier) @base (_ . (type_identifier) @base)])
] (template_body)))
(function_definition (_ . "new" [
  (type_identifier) @base
  (_ . (type_identifier) @base)
  (compound_type [(type_identifier) @base (_ . (type_identifier) @base)])
] (template_body)))
(indented_block . (_ . "new" [
  (type_identifier) @base
  (_ . (type_identifier) @base)
  (compound_type [(type_identifier) @base (_ . (type_identifier) @base)])
] (template_body)) .)
(given_definition [(type_identifier) @base (_ type: (type_identifier) @base type_arguments: (_))])

; Imports. What stands between the braces is left out.
(import_declaration ["import" ","] . (identifier) @import.source . ("." . (identifier) @import.source)*) @import

; Calls.
(call_expression . [
  (identifier) @call
  (_ value: (_) field: (_) @call)
  (_ . [(identifier) @call (_ value: (_) field: (_) @call)] . (type_arguments))
])
(infix_expression operator: (identifier) @call)
(instance_expression [(type_identifier) @call (_ . (type_identifier) @call)])

; Branches.
[(if_expression) (while_expression) (do_while_expression) (for_expression) (case_clause)] @branch
((operator_identifier) @branch (#any-of? @branch "&&" "||"))

[(comment) (block_comment)] @comment
