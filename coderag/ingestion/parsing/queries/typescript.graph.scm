; What TypeScript has beside what it shares with JavaScript.
(extends_clause value: (_) @base.inherits)
(implements_clause (_) @base.implements)
(extends_type_clause type: (_) @base.inherits)
(type_alias_declaration value: (intersection_type [(type_identifier) (generic_type) (nested_type_identifier)] @base.inherits))
[(override_modifier) "abstract"] @modifier

; Objects of a declared type that have methods.
(variable_declarator type: (_ (_) @base.object) value: (object [(method_definition) (pair value: (_ body: (_)))]))
(public_field_definition type: (_ (_) @base.object) value: (object [(method_definition) (pair value: (_ body: (_)))]))
(variable_declarator value: (as_expression (object [(method_definition) (pair value: (_ body: (_)))]) (_) @base.object))
(variable_declarator value: (satisfies_expression (object [(method_definition) (pair value: (_ body: (_)))]) (_) @base.object))
(variable_declarator type: (_ (_) @anonymous) value: (object [(method_definition) (pair value: (_ body: (_)))]) @anonymous.body)
(variable_declarator value: (satisfies_expression (object [(method_definition) (pair value: (_ body: (_)))]) @anonymous.body (_) @anonymous))
(_ return_type: (_ (_) @anonymous) body: (_ (return_statement (object [(method_definition) (pair value: (_ body: (_)))]) @anonymous.body)))
(arrow_function return_type: (_ (_) @anonymous) body: (_ (object [(method_definition) (pair value: (_ body: (_)))]) @anonymous.body))

(import_require_clause (identifier) @import.namespace source: (_) @import.module)
(export_statement "=" @import.alias [(identifier) @import.name (_ name: (_) @import.name)]) @import.exported
(export_statement "export" @import.name "=" @import.alias [(_ !name body: (_)) (object)]) @import.exported
(export_statement "=" @bind [(call_expression) (new_expression) (member_expression)] @value)

; Types.
(type_identifier) @type
(nested_type_identifier) @type
(type_query (_) @read)
[
  (function_declaration return_type: (type_annotation (_) @returns))
  (generator_function_declaration return_type: (type_annotation (_) @returns))
  (function_signature return_type: (type_annotation (_) @returns))
  (method_definition return_type: (type_annotation (_) @returns))
  (method_signature return_type: (type_annotation (_) @returns))
  (abstract_method_signature return_type: (type_annotation (_) @returns))
  (function_expression name: (_) return_type: (type_annotation (_) @returns))
  (generator_function name: (_) return_type: (type_annotation (_) @returns))
]
(arrow_function return_type: (type_annotation (_) @returns) body: (_) @function)
(function_expression return_type: (type_annotation (_) @returns) body: (_) @function)
(type_alias_declaration value: [
  (type_identifier) (generic_type) (nested_type_identifier) (array_type) (union_type) (readonly_type) (parenthesized_type) (type_query)
] @returns)

; Names for values.
(variable_declarator name: (identifier) @bind type: (_ (_) @typed))
(variable_declarator name: (identifier) @bind !type value: (_) @value)
(variable_declarator name: (_ (shorthand_property_identifier_pattern) @bind) type: (_ (_) @typed.whole))
(variable_declarator name: (_ (pair_pattern key: (_) @key value: (identifier) @bind)) type: (_ (_) @typed.whole))
(variable_declarator value: (_ (object (shorthand_property_identifier) @bind.entry @value)))
(variable_declarator value: (_ (object (pair key: (_) @bind.entry value: [(identifier) (_ property: (_)) (_ constructor: (_)) (_ function: (_))] @value))))
(formal_parameters (_ pattern: (identifier) @bind type: (_ (_) @typed)))
(formal_parameters (_ pattern: (identifier) @bind !type value: (_) @value))
(formal_parameters (_ pattern: (identifier) @bind !type !value))
(formal_parameters (_ pattern: (_ (shorthand_property_identifier_pattern) @bind) type: (_ (_) @typed.whole)))
(formal_parameters (_ pattern: (_ (shorthand_property_identifier_pattern) @bind) !type))
(formal_parameters (_ pattern: (_ (object_assignment_pattern left: (_) @bind)) type: (_ (_) @typed.whole)))
(formal_parameters (_ pattern: (_ (object_assignment_pattern left: (_) @bind)) !type))
(formal_parameters (_ pattern: (_ (pair_pattern key: (_) @key value: (identifier) @bind)) type: (_ (_) @typed.whole)))
(formal_parameters (_ pattern: (_ (pair_pattern value: (identifier) @bind)) !type))
(required_parameter [(accessibility_modifier) (override_modifier) "readonly"] pattern: (identifier) @bind.member type: (_ (_) @typed))
(optional_parameter [(accessibility_modifier) (override_modifier) "readonly"] pattern: (identifier) @bind.member type: (_ (_) @typed))
(class_body (_ name: (_) @bind type: (_ (_) @typed)))
(class_body (_ name: (_) @bind value: (_) @value))
(interface_body (property_signature name: (_) @bind type: (_ (_) @typed)))
(type_alias_declaration value: (_ (property_signature name: (_) @bind type: (_ (_) @typed))))
(type_alias_declaration value: (_ (_ (property_signature name: (_) @bind type: (_ (_) @typed)))))
((call_expression function: (_ object: (_) @elements property: (_) @_method) arguments: (_ . (_
  parameters: (_ . (_ pattern: (identifier) @bind !type)))))
  (#any-of? @_method "map" "forEach" "filter" "find" "findLast" "findIndex" "some" "every" "flatMap"))
((call_expression function: (_ object: (_) @value property: (_) @_method) arguments: (_ . (_
  parameters: (_ . (_ pattern: (identifier) @bind !type))))) (#eq? @_method "then"))
