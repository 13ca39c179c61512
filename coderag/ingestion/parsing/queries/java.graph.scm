; What the code graph needs; the captures are explained in facts.py.

(package_declaration (_) @package .)

(method_invocation) @call
(explicit_constructor_invocation) @call
(object_creation_expression type: (_) @new)
(method_reference) @read

; Imports.
(import_declaration (scoped_identifier scope: (_) @import.module name: (_) @import.name) .)
(import_declaration (_) @import.module (asterisk) @import.all)

; Types.
(superclass (_) @base.inherits)
(super_interfaces (type_list (_) @base.implements))
(extends_interfaces (type_list (_) @base.inherits))
(_ type: [(type_identifier) (generic_type) (scoped_type_identifier) (array_type)] @type)
(instanceof_expression right: (_) @type)
(catch_type (_) @type)
(throws (_) @type)
(type_bound (_) @type)
(class_literal (_) @type)
(spread_parameter [(type_identifier) (generic_type) (scoped_type_identifier)] @type)
(annotation name: (_) @type)
(marker_annotation name: (_) @type)
(method_declaration type: (_) @returns)
(annotation_type_element_declaration type: (_) @returns)
(method_declaration parameters: (_) @arity)
(constructor_declaration parameters: (_) @arity)
(object_creation_expression type: (_) @anonymous (class_body))
(enum_declaration name: (_) @anonymous body: (_ (enum_constant body: (_) @anonymous.body)))
(modifiers ["static" "abstract" "private" "default"] @modifier)

; Names for values.
(type_parameter . (type_identifier) @bind.type)
(type_parameter . (type_identifier) @bind.type (type_bound . (_) @value))
(formal_parameter type: (_) @typed name: (identifier) @bind)
(record_declaration parameters: (_ (formal_parameter type: (_) @typed name: (identifier) @bind)))
(spread_parameter [(type_identifier) (generic_type) (scoped_type_identifier)] @typed.elements (variable_declarator name: (identifier) @bind))
(field_declaration type: (_) @typed declarator: (variable_declarator name: (identifier) @bind))
(constant_declaration type: (_) @typed declarator: (variable_declarator name: (identifier) @bind))
(local_variable_declaration type: (_) @typed declarator: (variable_declarator name: (identifier) @bind !value))
(local_variable_declaration type: (_) @typed declarator: (variable_declarator name: (identifier) @bind value: (_) @value))
(enhanced_for_statement type: (_) @typed name: (identifier) @bind value: (_) @elements)
(resource type: (_) @typed name: (identifier) @bind value: (_) @value)
(catch_formal_parameter (catch_type . (_) @typed) name: (identifier) @bind)
(instanceof_expression right: (_) @typed name: (identifier) @bind)
(record_pattern_component . (_) @typed . (identifier) @bind)
(type_pattern . (_) @typed . (identifier) @bind)
(enum_declaration name: (identifier) @typed body: (enum_body (enum_constant name: (identifier) @bind)))
(lambda_expression parameters: (identifier) @bind)
(inferred_parameters (identifier) @bind)
(method_invocation object: (_) @elements name: (identifier) @_each arguments: (argument_list . (lambda_expression parameters: (identifier) @bind))
  (#any-of? @_each "allMatch" "anyMatch" "dropWhile" "filter" "flatMap" "forEach" "forEachOrdered" "ifPresent" "map" "mapToInt" "mapToLong" "mapToObj" "noneMatch" "peek" "removeIf" "takeWhile" "thenAccept" "thenApply"))

; Names mentioned as values.
((field_access object: (identifier) @_owner) @read (#match? @_owner "^[A-Z]"))
((identifier) @read (#match? @read "^[A-Z][A-Z0-9]*_[A-Z0-9_]*$"))
