; What the code graph needs; the captures are explained in facts.py. A wildcard is what holds a name: it compiles in less time
; than the names of nodes do, and fields and tokens distinguish it.

[(call_expression) (constructor_expression)] @call
(_ (call_suffix (lambda_literal) @closure)) @closure.call
(_ (call_suffix (_ (_ value: (lambda_literal) @closure)))) @closure.call

(import_declaration (identifier) @import.module)

; Types.
(user_type) @type
(_ inherits_from: (_) @base)
(typealias_declaration name: (_) name: (_) @returns)
(associatedtype_declaration name: (_) name: (_) @returns)
(_ "func" "->" . name: (_) @returns)
(init_declaration "init" @returns)
(_ (type_annotation (_) @returns) computed_value: (_))
[(function_declaration) (protocol_function_declaration) (init_declaration)] @arity
(parameter (function_type) @closure.parameter)
(_ (_ mutability: "var" @modifier) computed_value: (_)) @modified
(_ (modifiers [(_ . ["private" "fileprivate"] @modifier .) (_ ["override" "static"] @modifier)]) name: (_)) @modified

; Names for values.
(type_parameter . (_) @bind.type .)
(type_parameter . (_) @bind.type name: (_) @value)
(parameter name: (simple_identifier) @bind name: (_) @typed)
(lambda_parameter . name: (_) @bind .)
(lambda_parameter name: (_) @bind name: (_) @typed)
(_ name: (_ bound_identifier: (_) @bind) . (type_annotation (_) @typed))
(_ name: (_ bound_identifier: (_) @bind) . value: (_) @value)
(_ name: (_ bound_identifier: (_) @bind) . value: (_ . (array_literal . (_) @typed.elements .)))
(_ bound_identifier: (_) @bind . "=" . (_) @value)
(_ item: (_ bound_identifier: (_) @bind) collection: (_) @elements)
(_ (_ bound_identifier: (_) @bind) . "as" name: (_) @typed)
(pattern bound_identifier: (_) @bind)
(_ declaration_kind: "enum" name: (_) @typed body: (_ (enum_entry name: (_) @bind)))
[
  (lambda_literal) (if_statement) (while_statement) (for_statement) (do_statement) (catch_block) (switch_entry)
  (computed_getter) (computed_setter)
] @block

; Names mentioned as values, and members of the type that the context expects.
(navigation_expression) @read
(selector_expression [(_) @read (call_expression . (_) @read)])
(navigation_expression target: (simple_identifier) @read)
(_ [
  value: (simple_identifier) @read
  result: (simple_identifier) @read
  expr: (simple_identifier) @read
  lhs: (simple_identifier) @read
  rhs: (simple_identifier) @read
  element: (simple_identifier) @read
  condition: (simple_identifier) @read
  target: (directly_assignable_expression (simple_identifier) @read)
])
(_ (type_annotation (_) @implied.owner) . value: [
  (prefix_expression . "." target: (_) @implied)
  (_ . (prefix_expression . "." target: (_) @implied))
])
(_ target: (_) @implied.owner result: [
  (prefix_expression . "." target: (_) @implied)
  (_ . (prefix_expression . "." target: (_) @implied))
])
(_ lhs: (_) @implied.owner rhs: (prefix_expression . "." target: (_) @implied))
(_ expr: (_) @implied.owner (_ (_ (pattern . "." . (_) @implied))))
