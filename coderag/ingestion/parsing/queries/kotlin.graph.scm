; What the code graph needs; the captures are explained in facts.py. The grammar has few fields: a wildcard is what holds a
; name, and it compiles in less time than the names of nodes do.

(package_header (_) @package)

(call_expression) @call
(infix_expression) @call
(call_expression (call_suffix (annotated_lambda (lambda_literal) @closure))) @closure.call

; Imports.
(import_header . (identifier) @import.path)

; Types.
(user_type) @type
(callable_reference . (type_identifier) @type "class" .)
(class_declaration (delegation_specifier (constructor_invocation) @base.inherits))
(class_declaration (delegation_specifier [(user_type) (explicit_delegation)] @base))
(object_declaration (delegation_specifier (constructor_invocation) @base.inherits))
(object_declaration (delegation_specifier [(user_type) (explicit_delegation)] @base))
(companion_object (type_identifier) (delegation_specifier) @base)
(object_literal (delegation_specifier) @anonymous (class_body) @anonymous.body)
(_ (type_identifier) @anonymous (_ (enum_entry (class_body) @anonymous.body)))
(type_alias (_) @returns .)
(function_declaration (function_value_parameters) . [(user_type) (nullable_type) (function_type) (parenthesized_type)] @returns)
(_ (variable_declaration (_) . (_) @returns .) (getter))
((_ (variable_declaration (_) . (_) @returns .)) . (getter))
(function_declaration (function_body . "=" . (_) @return))
(getter (function_body . "=" . (_) @return))
(_ . "return" . (_) @return)
(anonymous_function (function_body) @function)
(function_declaration (function_value_parameters) @arity)
(secondary_constructor (function_value_parameters) @arity)
(parameter (_) . (function_type) @closure.parameter .)
((parameter (_) . [(user_type) (nullable_type)] @closure.parameter .)
  (#match? @closure.parameter "^[A-Z(]") (#not-match? @closure.parameter "^(Any|Boolean|ByteArray|Int|Long|String|T)\\b"))
(_ ["fun" (binding_pattern_kind)] receiver: (_) @extension)
[
  (class_declaration (modifiers (_ ["private" "abstract"] @modifier)))
  (object_declaration (modifiers (_ "private" @modifier)))
  (function_declaration (modifiers (_ ["private" "abstract" "override"] @modifier)))
  (property_declaration (modifiers (_ ["private" "abstract" "override"] @modifier)))
  (class_parameter (modifiers (_ ["private" "override"] @modifier)) (binding_pattern_kind))
] @modified
(_ (modifiers (platform_modifier) @modifier) ["class" "interface" "object" "fun" (binding_pattern_kind)]) @modified
(companion_object "companion" @modifier (type_identifier))
(getter "get" @modifier)
(setter "set" @modifier (function_body))

; Names for values.
(type_parameter (type_identifier) @bind.type .)
(type_parameter (type_identifier) @bind.type . (_) @value)
(_ "fun" receiver: (_ (_) @typed)) @bind.receiver
(_ receiver: (_ (_) @typed) (getter)) @bind.receiver
(parameter . (simple_identifier) @bind . (_) @typed)
(parameter_with_optional_type . (simple_identifier) @bind . (_)? @typed)
(class_parameter (simple_identifier) @bind . (_) @typed)
(variable_declaration (simple_identifier) @bind . (_)? @typed)
(_ (binding_pattern_kind) (variable_declaration (simple_identifier) @bind .) . (_) @value)
(_
  (variable_declaration (simple_identifier) @bind .) .
  (property_delegate (call_expression . (_) @_lazy (call_suffix (_ (lambda_literal (statements (_) @value .))))))
  (#eq? @_lazy "lazy"))
(when_subject (variable_declaration (simple_identifier) @bind .) . (_) @value)
(for_statement . (variable_declaration (simple_identifier) @bind .) . (_) @elements)
(catch_block . (simple_identifier) @bind . (_) @typed)
(_ . "enum" (type_identifier) @typed (_ (enum_entry . (_) @bind)))
(if_expression
  condition: [
    (check_expression . (simple_identifier) @bind . "is" . (_) @typed)
    (conjunction_expression . (check_expression . (simple_identifier) @bind . "is" . (_) @typed))
  ]
  consequence: (_) @within)
(when_expression
  (when_subject . [(simple_identifier) @bind (_ . (simple_identifier) @bind)] .)
  (when_entry . (when_condition (type_test "is" . (_) @typed)) . (control_structure_body) @within))
[(lambda_literal) (control_structure_body) (for_statement) (catch_block) (when_expression) (anonymous_function)] @block

; Names mentioned as values.
(callable_reference (simple_identifier) .) @read
(navigation_expression) @read
(directly_assignable_expression) @read
([
  (navigation_expression . (simple_identifier) @read)
  (value_argument (simple_identifier) @read .)
  (assignment (simple_identifier) @read .)
  (when_condition (simple_identifier) @read)
  (when_subject (simple_identifier) @read .)
  (jump_expression "return" (simple_identifier) @read .)
  (equality_expression (simple_identifier) @read)
  (elvis_expression (simple_identifier) @read)
  (control_structure_body . (simple_identifier) @read .)
  (property_delegate (simple_identifier) @read)
  (function_body "=" . (simple_identifier) @read)
])
