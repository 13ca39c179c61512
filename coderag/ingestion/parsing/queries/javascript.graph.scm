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
((expression_statement [
  (assignment_expression left: (_) @_left "=" @import.alias @import.exported right: (_ name: (_) @import.name body: (_)))
  (assignment_expression right: (assignment_expression left: (_) @_left "=" @import.alias @import.exported
    right: (_ name: (_) @import.name body: (_))))
]) (#match? @_left "^(module\\.)?exports$"))
((assignment_expression left: (_) @_left "=" @import.alias @import.exported right: (assignment_expression left: [
  (identifier) @import.name
  (_ object: (_) @_exports property: (_) @import.name)
])) (#eq? @_left "module.exports") (#not-eq? @import.name "exports") (#match? @_exports "^(module\\.)?exports$"))
((assignment_expression left: (_) @_left "=" @import.alias @import.exported
  right: (assignment_expression left: (identifier) @_exports right: (identifier) @import.name))
  (#eq? @_left "module.exports") (#eq? @_exports "exports"))
((variable_declarator name: (identifier) @import.name value: [
  (assignment_expression left: (_) @_left "=" @import.alias @import.exported)
  (assignment_expression right: (assignment_expression left: (_) @_left "=" @import.alias @import.exported))
]) (#match? @_left "^(module\\.)?exports$"))
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

; Constructor functions that inherit: util.inherits(A, B), A.prototype = Object.create(B.prototype), A.prototype = new B()
((call_expression function: [(identifier) @_inherits (_ property: (_) @_inherits)]
  arguments: (_ . (identifier) @base.owner . [(identifier) (member_expression)] @base.inherits)) (#match? @_inherits "^_?inherits(Loose)?$"))
((assignment_expression left: (_ object: (identifier) @base.owner property: (_) @_prototype) right: [
  (call_expression function: (_ property: (_) @_create) arguments: (_ . (_ object: (_) @base.inherits property: (_) @_of)))
  (new_expression constructor: (_) @base.inherits)
]) (#eq? @_prototype "prototype") (#eq? @_create "create") (#eq? @_of "prototype"))
((call_expression function: (_ property: (_) @_set)
  arguments: (_ . (_ object: (identifier) @base.owner property: (_) @_prototype) . (_ object: (_) @base.inherits property: (_) @_of)))
  (#eq? @_set "setPrototypeOf") (#eq? @_prototype "prototype") (#eq? @_of "prototype"))
((assignment_expression left: (_ object: (_ object: (identifier) @base.owner property: (_) @_prototype) property: (_) @_proto)
  right: (_ object: (_) @base.inherits property: (_) @_of))
  (#eq? @_prototype "prototype") (#eq? @_proto "__proto__") (#eq? @_of "prototype"))
