; What JavaScript does not share with TypeScript: parameters and fields are other nodes there.
(class_heritage (_) @base.inherits)
(field_definition property: (_) @bind value: (_) @value)
(variable_declarator name: (identifier) @bind value: (_) @value)
(formal_parameters (identifier) @bind)
(formal_parameters (assignment_pattern left: (identifier) @bind right: (_) @value))
(formal_parameters (_ (shorthand_property_identifier_pattern) @bind))
(formal_parameters (_ (_ left: (shorthand_property_identifier_pattern) @bind)))
(formal_parameters (_ (pair_pattern value: (identifier) @bind)))
((call_expression function: (_ object: (_) @elements property: (_) @_method) arguments: (_ . (_
  parameters: (_ . (identifier) @bind))))
  (#any-of? @_method "map" "forEach" "filter" "find" "findLast" "findIndex" "some" "every" "flatMap"))
((call_expression function: (_ object: (_) @value property: (_) @_method) arguments: (_ . (_
  parameters: (_ . (identifier) @bind)))) (#eq? @_method "then"))

; What a CommonJS module exports: "=" is all of it.
((assignment_expression left: (member_expression) @_left "=" @import.alias @import.exported right: (identifier) @import.name)
  (#eq? @_left "module.exports"))
((assignment_expression left: (member_expression) @_left "=" @import.namespace @import.exported right: (_
  function: (identifier) @_require arguments: (_ . (string) @import.module)))
  (#eq? @_left "module.exports") (#eq? @_require "require"))
((assignment_expression left: (member_expression) @_left "=" @bind right: [(call_expression) (new_expression) (member_expression)] @value)
  (#eq? @_left "module.exports"))
((assignment_expression left: (member_expression) @_left right: (object (shorthand_property_identifier) @bind.entry @value))
  (#eq? @_left "module.exports"))
((assignment_expression left: (member_expression) @_left right: (object (pair key: (_) @bind.entry value: (_) @value)))
  (#eq? @_left "module.exports"))
((assignment_expression left: (_ object: (_) @_left property: (_) @import.alias) right: (identifier) @import.name @import.exported)
  (#any-of? @_left "module.exports" "exports"))
((assignment_expression left: (_ object: (_) @_left property: (_) @import.alias) right: (_
  function: (identifier) @_require arguments: (_ . (string) @import.module @import.exported)))
  (#any-of? @_left "module.exports" "exports") (#eq? @_require "require"))
((assignment_expression left: (_ object: (_) @_left property: (_) @bind) right: [(call_expression) (new_expression) (member_expression)] @value)
  (#any-of? @_left "module.exports" "exports"))
(assignment_expression left: (_ object: [
  (identifier) @modifier
  (_ property: (_) @modifier)
] property: (_)) right: (_ body: (_)) (#eq? @modifier "exports"))
