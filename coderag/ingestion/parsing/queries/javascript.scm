; What JavaScript does not share with TypeScript: names of types and fields are other nodes there.
(class_declaration name: (identifier) @name) @definition.class
(assignment_expression left: [(identifier) @name (member_expression property: (_) @name)] right: (class body: (_) @body)) @definition.class
(field_definition property: (_) @name [(_ parameters: (_) body: (_) @body) (_ parameter: (_) body: (_) @body)]) @definition.method
(field_definition property: (_) @name) @definition.field

(class_heritage [
  (identifier) @base
  (_ property: (property_identifier) @base)
  (_ function: (identifier) @base)
])
