; What the code graph needs; the captures are explained in facts.py.

(compilation_unit (package_clause name: (_) @package.nested !body))

(call_expression function: [(identifier) (field_expression) (generic_function)] @call)
(infix_expression operator: (identifier)) @call
((infix_expression operator: (operator_identifier) @_operator) @call (#not-match? @_operator ":$"))
(instance_expression . [(type_identifier) (generic_type) (stable_type_identifier)] @new)

; Imports.
(import_declaration) @import.selectors

; Types.
(type_identifier) @type
(stable_type_identifier) @type
(extends_clause type: [(type_identifier) (generic_type) (stable_type_identifier)] @base)
(instance_expression . [(type_identifier) (generic_type) (stable_type_identifier)] @base.anonymous (template_body))
(instance_expression . (compound_type [(type_identifier) (generic_type) (stable_type_identifier)] @base.anonymous) (template_body))
(given_definition return_type: [(type_identifier) (generic_type) (stable_type_identifier)] @base.implements)
(instance_expression . [(type_identifier) (generic_type) (stable_type_identifier)] @anonymous (template_body))
(function_definition return_type: (_) @returns)
(function_declaration return_type: (_) @returns)
(type_definition type: (_) @returns)
(function_definition !return_type body: [(identifier) (field_expression) (call_expression) (generic_function) (instance_expression) (if_expression)] @return)
(function_definition !return_type body: (block [(identifier) (field_expression) (call_expression) (instance_expression) (if_expression)] @return .))

; A method without a parameter list is called by its name alone.
(function_definition "def" @modifier !parameters)
(function_definition "def" @modifier parameters: (type_parameters) . [":" "="])
(function_declaration "def" @modifier !parameters)
(object_definition "object" @modifier)
(class_definition "case" @modifier)
(class_definition (modifiers "implicit" @modifier))
(extension_definition "extension" @modifier)
(function_definition (modifiers (access_modifier "private" @modifier)))

; Names for values.
(type_parameters name: (identifier) @bind.type)
(type_definition type_parameters: (type_parameters name: (_) @bind.type))
(parameter name: (identifier) @bind type: [(type_identifier) (generic_type) (stable_type_identifier) (compound_type) (tuple_type)] @typed)
(parameter name: (identifier) @bind type: (lazy_parameter_type type: (_) @typed))
(parameter name: (identifier) @bind type: (repeated_parameter_type type: (_) @typed.elements))
(parameter name: (identifier) @bind type: [(function_type) (infix_type)])
(class_parameter name: (identifier) @bind type: [(type_identifier) (generic_type) (stable_type_identifier) (compound_type) (tuple_type)] @typed)
(class_parameter name: (identifier) @bind type: (lazy_parameter_type type: (_) @typed))
(class_parameter name: (identifier) @bind type: (repeated_parameter_type type: (_) @typed.elements))
(class_parameter name: (identifier) @bind type: [(function_type) (infix_type)])
(val_definition pattern: (identifier) @bind type: [(type_identifier) (generic_type) (stable_type_identifier) (compound_type)] @typed)
(val_definition pattern: (identifier) @bind !type value: (_) @value)
(val_definition pattern: (identifier) @bind type: [(function_type) (infix_type) (tuple_type)])
(val_definition pattern: [(tuple_pattern (identifier) @bind) (case_class_pattern pattern: (identifier) @bind)])
(var_definition pattern: (identifier) @bind type: [(type_identifier) (generic_type) (stable_type_identifier) (compound_type)] @typed)
(var_definition pattern: (identifier) @bind !type value: (_) @value)
(val_declaration name: (identifier) @bind type: (_) @typed)
(var_declaration name: (identifier) @bind type: (_) @typed)
(given_definition name: (identifier) @bind return_type: (_) @typed)
(enum_definition name: (identifier) @typed body: (enum_body (enum_case_definitions (simple_enum_case name: (identifier) @bind))))
(self_type . (identifier) @bind)
(lambda_expression parameters: (identifier) @bind)
(binding name: (identifier) @bind type: (_) @typed)
(binding name: (identifier) @bind !type)
(call_expression
  function: (field_expression value: (_) @elements field: (identifier) @_each)
  arguments: [(arguments . (lambda_expression parameters: (identifier) @bind)) (block . (lambda_expression parameters: (identifier) @bind))]
  (#any-of? @_each "collectFirst" "count" "dropWhile" "exists" "filter" "filterNot" "find" "flatMap" "flatTap" "forall" "foreach" "groupBy" "map" "maxBy" "minBy" "partition" "sortBy" "span" "takeWhile" "tap" "traverse" "withFilter"))
(enumerator . (identifier) @bind "<-" . (_) @elements)
(enumerator . (identifier) @bind "=" . (_) @value)
(enumerator . (tuple_pattern (identifier) @bind))
(typed_pattern pattern: (identifier) @bind type: (_) @typed)
(capture_pattern name: (identifier) @bind pattern: (case_class_pattern type: (_) @typed))
(capture_pattern name: (identifier) @bind)
((case_class_pattern pattern: (identifier) @bind) (#match? @bind "^[a-z_]"))
(tuple_pattern (identifier) @bind)
((case_clause pattern: (identifier) @bind) (#match? @bind "^[a-z_]"))
((match_expression value: (_) @elements body: (case_block (case_clause pattern: (case_class_pattern type: (_) @_some pattern: (identifier) @bind))))
  (#any-of? @_some "Some" "Right" "Success"))

; Names mentioned as values.
(field_expression) @read
(arguments (identifier) @read)
(arguments (assignment_expression right: (identifier) @read))
(arguments (postfix_expression (identifier) @read))
(block (identifier) @read)
(indented_block (identifier) @read)
(function_definition body: (identifier) @read)
(val_definition value: (identifier) @read)
(var_definition value: (identifier) @read)
(case_clause body: (identifier) @read)
((case_clause pattern: (identifier) @read) (#match? @read "^[A-Z]"))
((alternative_pattern (identifier) @read) (#match? @read "^[A-Z]"))
((case_class_pattern pattern: (identifier) @read) (#match? @read "^[A-Z]"))
(stable_identifier) @read
(infix_expression right: (identifier) @read)
(infix_expression left: (identifier) @read)
(if_expression [(identifier) (parenthesized_expression (identifier))] @read)
(tuple_expression (identifier) @read)
(interpolation (identifier) @read)
(match_expression value: (identifier) @read)
(throw_expression (identifier) @read)
(generic_function function: (identifier) @read)
(field_expression value: (identifier) @read)
(enumerator (identifier) @read .)

; Where local names are known.
[(block) (indented_block) (case_clause) (for_expression)] @block
(lambda_expression) @block @function
