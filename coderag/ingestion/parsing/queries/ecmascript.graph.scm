; What the code graph needs of JavaScript and TypeScript; the captures are explained in facts.py.

(call_expression function: (_) @call)
(new_expression constructor: (_) @new)
(decorator (_) @decorator)
["get" "set" "static"] @modifier
(export_statement "export" @modifier)

; Imports.
(import_statement source: (_) @import.module)
(import_statement (import_clause (identifier) @import.default) source: (_) @import.module)
(import_statement (import_clause (namespace_import (_) @import.namespace)) source: (_) @import.module)
(import_statement (import_clause (named_imports (_ name: _ @import.name !alias))) source: (_) @import.module)
(import_statement (import_clause (named_imports (_ name: _ @import.name alias: _ @import.alias))) source: (_) @import.module)
(export_statement "*" @import.all source: (_) @import.module) @import.exported
(export_statement (namespace_export (_) @import.namespace) source: (_) @import.module) @import.exported
(export_statement (export_clause (_ name: _ @import.name !alias)) source: (_) @import.module) @import.exported
(export_statement (export_clause (_ name: _ @import.name alias: _ @import.alias)) source: (_) @import.module) @import.exported
(export_statement (export_clause (_ name: _ @import.name !alias)) !source) @import.exported
(export_statement (export_clause (_ name: _ @import.name alias: _ @import.alias)) !source) @import.exported
(export_statement "default" @import.alias [declaration: (_ name: (_) @import.name) value: (identifier) @import.name]) @import.exported
(export_statement "default" @bind value: [(call_expression) (new_expression) (object) (member_expression) (await_expression)] @value)
((_ function: (identifier) @_require arguments: (_ . (string) @import.module)) (#eq? @_require "require"))
(_ function: (import) arguments: (_ . (string) @import.module))
((variable_declarator name: (identifier) @import.namespace value: (_
  function: (identifier) @_require arguments: (_ . (string) @import.module))) (#eq? @_require "require"))
((variable_declarator name: (_ (shorthand_property_identifier_pattern) @import.name) value: (_
  function: (identifier) @_require arguments: (_ . (string) @import.module))) (#eq? @_require "require"))
((variable_declarator name: (_ (pair_pattern key: (_) @import.name value: (identifier) @import.alias)) value: (_
  function: (identifier) @_require arguments: (_ . (string) @import.module))) (#eq? @_require "require"))
((variable_declarator name: (identifier) @import.alias value: (_ object: (_
  function: (identifier) @_require arguments: (_ . (string) @import.module)) property: (_) @import.name)) (#eq? @_require "require"))
(variable_declarator name: (identifier) @import.namespace value: (await_expression (_
  function: (import) arguments: (_ . (string) @import.module))))
(variable_declarator name: (_ (shorthand_property_identifier_pattern) @import.name) value: (await_expression (_
  function: (import) arguments: (_ . (string) @import.module))))
(variable_declarator name: (_ (pair_pattern key: (_) @import.name value: (identifier) @import.alias)) value: (await_expression (_
  function: (import) arguments: (_ . (string) @import.module))))

; Where names are known, and whose values are returned.
[(statement_block) (for_statement) (for_in_statement) (catch_clause)] @block
(arrow_function body: (_) @function) @block
(function_expression body: (_) @function) @block
(return_statement [
  (identifier) (member_expression) (call_expression) (new_expression) (await_expression) (this) (ternary_expression)
  (binary_expression) (parenthesized_expression) (subscript_expression)
] @return)
(arrow_function body: (_) @return (#not-match? @return "^[{(]"))

; Names for values.
(arrow_function parameter: (identifier) @bind)
(variable_declarator name: (identifier) @bind !value)
(variable_declarator name: (_ (shorthand_property_identifier_pattern) @bind) value: (_) @whole)
(variable_declarator name: (_ (pair_pattern key: (_) @key value: (identifier) @bind)) value: (_) @whole)
(variable_declarator name: (_ (object_assignment_pattern left: (_) @bind)) value: (_) @whole)
(array_pattern (identifier) @bind)
(rest_pattern (identifier) @bind)
(for_in_statement left: (identifier) @bind "of" right: (_) @elements)
(for_in_statement left: (identifier) @bind "in")
(for_in_statement left: (_ (shorthand_property_identifier_pattern) @bind))
(catch_clause parameter: (identifier) @bind)
(assignment_expression left: (_ object: (this) property: (_) @bind.member) right: (_) @value)
(assignment_expression left: (identifier) @bind right: [(_ function: (_)) (_ constructor: (_)) (await_expression)] @value)
(variable_declarator value: (object (shorthand_property_identifier) @bind.entry @value))
(export_statement value: (object (shorthand_property_identifier) @bind.entry @value))
(export_statement value: (object (pair key: (_) @bind.entry value: [(identifier) (_ property: (_)) (_ constructor: (_)) (_ function: (_))] @value)))
(variable_declarator value: (object (pair key: (_) @bind.entry value: [(identifier) (_ property: (_)) (_ constructor: (_)) (_ function: (_))] @value)))
((call_expression function: (_ object: (_) @elements property: (_) @_method) arguments: (_ . (_ parameter: (identifier) @bind)))
  (#any-of? @_method "map" "forEach" "filter" "find" "findLast" "findIndex" "some" "every" "flatMap"))
((call_expression function: (_ object: (_) @value property: (_) @_method) arguments: (_ . (_ parameter: (identifier) @bind)))
  (#eq? @_method "then"))

; Names mentioned as values.
(arguments [(identifier) (member_expression)] @read)
(pair value: [(identifier) (member_expression)] @read)
(shorthand_property_identifier) @read
(array [(identifier) (member_expression)] @read)
(variable_declarator value: [(identifier) (member_expression)] @read)
(assignment_expression right: [(identifier) (member_expression)] @read)
(return_statement [(identifier) (member_expression)] @read)
(arrow_function body: [(identifier) (member_expression)] @read)
(ternary_expression [(identifier) (member_expression)] @read)
(spread_element (_) @read)
(export_statement value: (identifier) @read)
(binary_expression "instanceof" right: (_) @read)
([(member_expression object: (identifier) @read) (subscript_expression object: (identifier) @read)] (#match? @read "^[A-Z]"))
