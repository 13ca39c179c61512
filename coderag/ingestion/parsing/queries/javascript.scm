; What JavaScript does not share with TypeScript: names of types and fields are other nodes there.
(class_declaration name: (identifier) @name) @definition.class
(assignment_expression left: [(identifier) @name (_ property: (_) @name)] @_left right: (class name: (_)? @name.inner body: (_) @body)
  (#not-match? @_left "^(module\\.)?exports$")) @definition.class
(assignment_expression left: [(identifier) @name (_ property: (_) @name)] @_left right: (class !name body: (_) @body)
  (#match? @_left "^(module\\.)?exports$")) @definition.class
(assignment_expression left: (_) @_left right: (class name: (_) @name body: (_) @body)
  (#match? @_left "^(module\\.)?exports$")) @definition.class
; Object.assign(Foo.prototype, { bar() { ... } })
(call_expression function: [(identifier) @_mix (_ property: (_) @_mix)]
  arguments: (_ . (_ object: (identifier) @receiver property: (_) @_prototype) (object [
    (method_definition name: (_) @name) @definition.method
    (pair key: (_) @name value: [(_ parameters: (_) body: (_) @body) (_ parameter: (_) body: (_) @body)]) @definition.method
  ]))
  (#eq? @_prototype "prototype") (#match? @_mix "^(?:assign|augment|extend|merge|mixin)s?$"))
; module.exports = { run: (x) => x }
(assignment_expression left: (_) @_left right: (object
  (pair key: (_) @name value: [(_ parameters: (_) body: (_) @body) (_ parameter: (_) body: (_) @body)]) @definition.method)
  (#match? @_left "^(module\\.)?exports$"))
; app.Foo.prototype.bar = function () { ... }
(assignment_expression
  left: (_ object: (_ object: (_ property: (_) @receiver) property: (_) @_prototype) property: (property_identifier) @name)
  right: [(_ name: (_)? @name.inner parameters: (_) body: (_) @body) (_ parameter: (_) body: (_) @body)]
  (#eq? @_prototype "prototype")) @definition.method
; Foo.prototype = { bar() { ... } }
(assignment_expression left: (_ object: (identifier) @receiver property: (property_identifier) @_prototype) right: (object [
    (method_definition name: (_) @name) @definition.method
    (pair key: (_) @name value: [(_ parameters: (_) body: (_) @body) (_ parameter: (_) body: (_) @body)]) @definition.method
  ])
  (#eq? @_prototype "prototype"))
(field_definition property: (_) @name [(_ parameters: (_) body: (_) @body) (_ parameter: (_) body: (_) @body)]) @definition.method
(field_definition property: (_) @name) @definition.field

(class_heritage [
  (identifier) @base
  (_ property: (property_identifier) @base)
  (_ function: (identifier) @base)
])
