; What the code graph needs; the captures are explained in facts.py.

(namespace_definition name: (_) @package !body)

(function_call_expression) @call
(member_call_expression) @call
(nullsafe_member_call_expression) @call
(scoped_call_expression) @call
(object_creation_expression [(name) (qualified_name)] @new)

; Imports.
(namespace_use_declaration) @import.tree
(include_expression [(string (_) @import.module) (_ (string (_) @import.module)) (_ (_ (string (_) @import.module)))])
(include_once_expression [(string (_) @import.module) (_ (string (_) @import.module)) (_ (_ (string (_) @import.module)))])
(require_expression [(string (_) @import.module) (_ (string (_) @import.module)) (_ (_ (string (_) @import.module)))])
(require_once_expression [(string (_) @import.module) (_ (string (_) @import.module)) (_ (_ (string (_) @import.module)))])

; Types. The class of a static member is named like a type.
(class_declaration (base_clause (_) @base.inherits))
(interface_declaration (base_clause (_) @base.inherits))
(class_interface_clause (_) @base.implements)
(use_declaration [(name) (qualified_name)] @base)
(anonymous_class (base_clause) @anonymous)
(anonymous_class . (class_interface_clause) @anonymous)
(anonymous_class (base_clause (_) @type))
((named_type) @type (#not-match? @type "^(?:self|static|parent)$"))
(_ operator: "instanceof" right: [(name) (qualified_name)] @type (#not-match? @type "^(?:self|static|parent)$"))
(attribute . (_) @type)
(_ scope: [(name) (qualified_name)] @type)
(class_constant_access_expression . [(name) (qualified_name)] @type)
(method_declaration return_type: (_) @returns)
(function_definition return_type: (_) @returns)
(return_statement (_) @return)
(arrow_function body: (_) @function) @block
(anonymous_function body: (_) @function) @block
[(abstract_modifier) (static_modifier)] @modifier
((visibility_modifier) @modifier (#eq? @modifier "private"))
((comment) @documentation (#match? @documentation "^/\\*\\*"))

; Names for values.
(simple_parameter type: (_) @typed name: (variable_name) @bind)
(simple_parameter !type name: (variable_name) @bind default_value: (_) @value)
(simple_parameter !type name: (variable_name) @bind !default_value)
(variadic_parameter type: (_) @typed.elements name: (variable_name) @bind)
(property_promotion_parameter type: (_) @typed name: (variable_name) @bind)
(property_promotion_parameter type: (_) @typed name: (variable_name (name) @bind.member))
(property_declaration type: (_) @typed (property_element name: (variable_name (name) @bind)))
(property_declaration !type (property_element name: (variable_name (name) @bind) default_value: (_) @value))
(assignment_expression left: (variable_name) @bind right: (_) @value)
(assignment_expression
  left: (_ object: (variable_name) @_this name: (name) @bind.member) right: (_) @value
  (#eq? @_this "$this"))
(assignment_expression
  left: (_ scope: (relative_scope) name: (_ (name) @bind.member)) right: (_) @value)
(augmented_assignment_expression left: (variable_name) @bind operator: "??=" right: (_) @value)
(augmented_assignment_expression
  left: (_ object: (variable_name) @_this name: (name) @bind.member) operator: "??=" right: (_) @value
  (#eq? @_this "$this"))
(list_literal (variable_name) @bind)
(static_variable_declaration name: (variable_name) @bind)
(global_declaration (variable_name) @bind)
(foreach_statement . (_) @elements . (variable_name) @bind)
(foreach_statement . (_) @elements . (by_ref (variable_name) @bind))
(foreach_statement . (_) @elements . (pair (_) [(variable_name) @bind (by_ref (variable_name) @bind)] .))
(catch_clause type: (_) @typed name: (variable_name) @bind)
(enum_declaration name: (name) @typed body: (_ (enum_case name: (name) @bind)))
(if_statement
  condition: (_ (_ left: (variable_name) @bind operator: "instanceof" right: [(name) (qualified_name)] @typed))
  body: (_) @within)
(function_call_expression
  function: (name) @_each
  arguments: (_
    . (_ [(arrow_function parameters: (_ . (_ !type name: (_) @bind))) (anonymous_function parameters: (_ . (_ !type name: (_) @bind)))])
    . (_ (_) @elements))
  (#eq? @_each "array_map"))
(function_call_expression
  function: (name) @_each
  arguments: (_
    . (_ (_) @elements)
    . (_ [(arrow_function parameters: (_ . (_ !type name: (_) @bind))) (anonymous_function parameters: (_ . (_ !type name: (_) @bind)))]))
  (#any-of? @_each "array_filter" "array_walk" "usort" "uasort"))

; Names mentioned as values.
(class_constant_access_expression) @read
(scoped_property_access_expression) @read
(argument (name) @read (#match? @read "^[A-Z_][A-Z0-9_]+$"))
(_ right: (name) @read (#match? @read "^[A-Z_][A-Z0-9_]+$"))
(return_statement (name) @read (#match? @read "^[A-Z_][A-Z0-9_]+$"))
(_ left: (name) @read (#match? @read "^[A-Z_][A-Z0-9_]+$"))
(array_element_initializer (name) @read (#match? @read "^[A-Z_][A-Z0-9_]+$"))

; Callables: `[$this, "go"]`, `"go"` as an argument of what takes a function.
(array_creation_expression
  . (_ . [(variable_name) (member_access_expression) (class_constant_access_expression)] @read.owner .)
  . (_ . (string (string_content) @read.callable) .) .
  (#match? @read.callable "^[A-Za-z_]\\w*$"))
(function_call_expression
  function: (_) @_takes arguments: (_ (_ [(string (string_content) @read.callable) (encapsed_string . (string_content) @read.callable .)]))
  (#match? @_takes "(?i)call|^array_|usort$|uasort$|uksort$|^usort|register|hook|filter|action|listen|handler|bind|subscribe|shortcode|middleware|^on_?|^ob_start$|iterator_apply|defer|schedule")
  (#match? @read.callable "^\\\\?[A-Za-z_][\\w\\\\]*(::\\w+)?$"))
(_
  name: (_) @_takes arguments: (_ (_ [(string (string_content) @read.callable) (encapsed_string . (string_content) @read.callable .)]))
  (#match? @_takes "(?i)call|map|each|sort|register|hook|filter|action|listen|handler|bind|subscribe|middleware|^on|attach|defer|schedule|pipe|then")
  (#match? @read.callable "^\\\\?[A-Za-z_][\\w\\\\]*(::\\w+)?$"))

; Strings that may name a function: in a table, an assignment or any other call.
(array_element_initializer (string (string_content) @read.named) .
  (#match? @read.named "^\\\\?[A-Za-z]\\w*(?:[_\\\\]|[a-z][A-Z])[\\w\\\\]*$"))
(argument (string (string_content) @read.named)
  (#match? @read.named "^\\\\?[A-Za-z]\\w*(?:[_\\\\]|[a-z][A-Z])[\\w\\\\]*$"))
(assignment_expression right: (string (string_content) @read.named)
  (#match? @read.named "^\\\\?[A-Za-z]\\w*(?:[_\\\\]|[a-z][A-Z])[\\w\\\\]*$"))
