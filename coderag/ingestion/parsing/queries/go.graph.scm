; What the code graph needs; the captures are explained in facts.py.

(call_expression function: (_) @call)
(composite_literal type: (_) @new)
(package_clause (package_identifier) @package)

; Embedded types are what a struct or interface inherits from, and fields of their own name.
(field_declaration !name type: (_) @base.inherits)
(interface_type (type_elem . (_) @base.inherits .))
(type_spec type: (struct_type (field_declaration_list (field_declaration !name type: [
  (type_identifier) @bind.member
  (_ name: (type_identifier) @bind.member)
  (generic_type type: (type_identifier) @bind.member)
] @typed))))

; Imports.
(import_spec !name path: (_) @import.module)
(import_spec name: (package_identifier) @import.namespace path: (_) @import.module)
(import_spec name: (dot) @import.all path: (_) @import.module)
(import_spec name: (blank_identifier) path: (_) @import.module)

; Types.
((parameter_declaration type: (_) @type) (#not-match? @type "^(func|struct|interface)[({ ]"))
((variadic_parameter_declaration type: (_) @type) (#not-match? @type "^(func|struct|interface)[({ ]"))
((field_declaration type: (_) @type) (#not-match? @type "^(func|struct|interface)[({ ]"))
((var_spec type: (_) @type) (#not-match? @type "^(func|struct|interface)[({ ]"))
(const_spec type: (_) @type)
(type_spec type: [(type_identifier) (qualified_type) (pointer_type) (slice_type) (array_type) (map_type) (channel_type) (generic_type)] @type)
((type_alias type: (_) @type) (#not-match? @type "^(func|struct|interface)[({ ]"))
(type_assertion_expression type: (_) @type)
(type_conversion_expression type: (_) @call)
(type_case type: (_) @type)
(type_constraint (_) @type)
(_ result: [(type_identifier) (qualified_type) (pointer_type) (slice_type) (map_type) (channel_type) (generic_type)] @type)
(function_declaration result: [(type_identifier) (qualified_type) (pointer_type) (slice_type) (array_type) (map_type) (channel_type) (generic_type) (function_type)] @returns)
(method_declaration result: [(type_identifier) (qualified_type) (pointer_type) (slice_type) (array_type) (map_type) (channel_type) (generic_type) (function_type)] @returns)
(method_elem result: [(type_identifier) (qualified_type) (pointer_type) (slice_type) (array_type) (map_type) (channel_type) (generic_type) (function_type)] @returns)
(function_declaration result: (parameter_list (parameter_declaration name: (_) @_name type: (_) @returns.item)))
(function_declaration result: (parameter_list (parameter_declaration !name type: (_) @returns.item)))
(method_declaration result: (parameter_list (parameter_declaration name: (_) @_name type: (_) @returns.item)))
(method_declaration result: (parameter_list (parameter_declaration !name type: (_) @returns.item)))
(method_elem result: (parameter_list (parameter_declaration name: (_) @_name type: (_) @returns.item)))
(method_elem result: (parameter_list (parameter_declaration !name type: (_) @returns.item)))
(type_spec type: [(slice_type) (array_type) (map_type)] @returns)
(type_alias type: (_) @returns)

; What a method takes tells whether its type is an interface's.
(method_declaration parameters: (parameter_list (parameter_declaration name: (_) @_name type: (_) @parameter)))
(method_declaration parameters: (parameter_list (parameter_declaration !name type: (_) @parameter)))
(method_declaration parameters: (parameter_list (variadic_parameter_declaration type: (_) @parameter)))
(method_elem parameters: (parameter_list (parameter_declaration name: (_) @_name type: (_) @parameter)))
(method_elem parameters: (parameter_list (parameter_declaration !name type: (_) @parameter)))
(method_elem parameters: (parameter_list (variadic_parameter_declaration type: (_) @parameter)))

; Names for values.
(method_declaration receiver: (parameter_list (parameter_declaration name: (identifier) @bind type: (_) @typed)))
(_ parameters: (parameter_list (parameter_declaration name: (identifier) @bind type: (_) @typed)) body: (_))
(_ parameters: (parameter_list (variadic_parameter_declaration name: (identifier) @bind type: (_) @typed.elements)) body: (_))
(_ result: (parameter_list (parameter_declaration name: (identifier) @bind type: (_) @typed)) body: (_))
(type_spec type: (struct_type (field_declaration_list (field_declaration name: (_) @bind.member type: (_) @typed))))
(var_spec name: (identifier) @bind type: (_) @typed)
(var_spec . (identifier) @bind . value: (expression_list . (_) @value .))
(var_spec . (identifier) @bind . (identifier) . value: (expression_list . (_) @value.0 .))
(var_spec . (identifier) . (identifier) @bind . value: (expression_list . (_) @value.1 .))
(const_spec name: (identifier) @bind)
(type_parameter_declaration name: (identifier) @bind.type type: (type_constraint (_) @value))
((short_var_declaration
  left: (expression_list . (identifier) @bind .)
  right: (expression_list . (_) @value .)) (#not-match? @value "^(new|make)\\("))
((short_var_declaration
  left: (expression_list . (identifier) @bind .)
  right: (expression_list . (call_expression function: (identifier) @_new arguments: (argument_list . (_) @typed)) .))
  (#any-of? @_new "new" "make"))
(short_var_declaration
  left: (expression_list . (identifier) @bind . (_))
  right: (expression_list . [(index_expression) (type_assertion_expression) (unary_expression)] @value .))
(short_var_declaration left: (expression_list . (identifier) @bind . (_)) right: (expression_list . (call_expression) @value.0 .))
(short_var_declaration left: (expression_list . (_) . (identifier) @bind) right: (expression_list . (call_expression) @value.1 .))
(short_var_declaration left: (expression_list . (_) . (_) . (identifier) @bind) right: (expression_list . (call_expression) @value.2 .))
(short_var_declaration
  left: (expression_list . (_) . (identifier) @bind .)
  right: (expression_list . [(index_expression) (type_assertion_expression) (unary_expression)] .))
(short_var_declaration left: (expression_list . (identifier) @bind) right: (expression_list . (_) @value . (_)))
(short_var_declaration left: (expression_list (_) . (identifier) @bind) right: (expression_list (_) . (_)))
(range_clause left: (expression_list . (identifier) @bind))
(range_clause left: (expression_list . (_) . (identifier) @bind) right: (_) @elements)
(type_switch_statement alias: (expression_list (identifier) @bind) (type_case . type: (_) @typed . [(statement_list) (comment)]) @from)
(type_switch_statement alias: (expression_list (identifier) @bind) (type_case ",") @from)
(type_switch_statement alias: (expression_list (identifier) @bind) value: (_) @value (default_case) @from)

; Names mentioned as values.
(argument_list [(identifier) (selector_expression)] @read)
(keyed_element value: (literal_element [(identifier) (selector_expression)] @read))
(literal_value (literal_element [(identifier) (selector_expression)] @read))
(assignment_statement right: (expression_list [(identifier) (selector_expression)] @read))
(short_var_declaration right: (expression_list [(identifier) (selector_expression)] @read))
(var_spec value: (expression_list [(identifier) (selector_expression)] @read))
(return_statement (expression_list [(identifier) (selector_expression)] @read))
(send_statement value: [(identifier) (selector_expression)] @read)
(expression_case value: (expression_list [(identifier) (selector_expression)] @read))
(binary_expression [(identifier) (selector_expression)] @read (#match? @read "(^|[.])[A-Z]"))

; Where local names are known.
[
  (block) (func_literal) (if_statement) (for_statement) (expression_switch_statement) (type_switch_statement) (select_statement)
  (expression_case) (type_case) (default_case) (communication_case)
] @block
