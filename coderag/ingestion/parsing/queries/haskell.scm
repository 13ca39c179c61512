; Wildcards stand for all inner nodes but the last: with their names the query would take ten times longer to compile.

; Functions. A signature and the equations below it are one declaration. What has neither parameters nor an arrow in its
; type is a constant, unless it is computed.
((signature name: [(variable) @name (_ (operator) @name)] type: (_) @_type) @definition.function @clause
  (#match? @_type "->|→"))
(signature name: [(variable) @name (_ (operator) @name)]) @definition.constant @clause
(signature names: (_ name: [(variable) @name (_ (operator) @name)])) @definition.constant @clause
(function
  [
    name: (variable) @name
    (_ operator: [(operator) @name (_ (variable) @name)])
    (_ (_ operator: [(operator) @name (_ (variable) @name)]))
  ]
  . patterns: (_)?
  . match: (_) @body) @definition.function @clause
(function name: (_ (operator) @name) match: (_) @body) @definition.function @clause
(bind name: [(variable) @name (_ (operator) @name)] match: (_) @body) @definition.constant @clause
(declarations (_ !patterns
  name: [(variable) @name (_ (operator) @name)]
  match: (_ expression: [
    (apply) (case) (conditional) (do) (infix) (lambda) (lambda_case) (left_section) (let_in) (multi_way_if) (prefix_id)
    (qualified) (right_section) (variable)
  ]) @body) @definition.function @clause)
(class_declarations [
  (_ !match name: [(variable) @name (_ (operator) @name)])
  (_ !patterns name: [(variable) @name (_ (operator) @name)] match: (_) @body)
] @definition.function @clause)
(instance_declarations (bind name: [(variable) @name (_ (operator) @name)] match: (_) @body) @definition.function @clause)
(foreign_import signature: (_ name: (variable) @name)) @definition.function
(pattern_synonym (_
  synonym: [
    (constructor) @name
    (_ operator: (constructor_operator) @name)
    (_ constructor: (constructor) @name)
    (_ function: [
      (constructor) @name
      (_ function: [
        (constructor) @name
        (_ function: [
          (constructor) @name
          (_ function: [(constructor) @name (_ function: [(constructor) @name (_ function: (constructor) @name)])])
        ])
      ])
    ])
  ]
  pattern: (_)? @body)) @definition.function @clause
(fixity) @attribute

; Types. Data of one record is a struct, other data an enumeration of its constructors.
(data_type
  [name: (name) @name (_ operator: [(constructor_operator) @name (operator) @name (_ (name) @name)])]
  constructors: [(_ . (_ constructor: [(prefix) (infix) (special)])) (gadt_constructors)]) @definition.enum
(data_type name: (name) @name constructors: (_ . (_ constructor: (record)))) @definition.struct
(data_type name: (name) @name !constructors) @definition.struct
(newtype [name: (name) @name (_ (_ operator: [(constructor_operator) (operator)] @name))]) @definition.struct
(data_constructor constructor: (_ [
  name: [(constructor) @name (_ (constructor_operator) @name)]
  operator: [(constructor_operator) @name (_ (constructor) @name)]
] @definition.field))
(gadt_constructor [name: (constructor) @name (_ name: (constructor) @name)]) @definition.field
(newtype_constructor name: (constructor) @name @definition.field)
(field name: (_ (variable) @name)) @definition.field
(type_synomym [name: (name) @name (_ operator: [(constructor_operator) (operator)] @name)]) @definition.type_alias
(type_family [name: (name) @name (_ operator: [(constructor_operator) (operator)] @name)]) @definition.type_alias
(type_instance name: (name) @name) @definition.type_alias
(data_family name: (name) @name) @definition.type_alias
(class
  [name: (name) @name (_ operator: [(constructor_operator) (operator)] @name)]
  declarations: (_)? @body) @definition.trait

; An instance is named for its type, without arguments and modules: the first one that is no variable. One pattern a form:
; beside a wildcard, an alternative that has children is not found.
(instance patterns: (_ . (variable)* . [(name) (list) (tuple) (unit) (prefix_id) (prefix_list) (prefix_tuple)] @name) declarations: (_)? @body) @definition.impl
(instance patterns: (_ . (variable)* . (variable) @name .) declarations: (_)? @body) @definition.impl
(instance patterns: (_ . (variable)* . (_ id: (name) @name)) declarations: (_)? @body) @definition.impl
(instance patterns: (_ . (variable)* . (_ type: [(name) (list) (tuple) (function) (infix) (variable)] @name)) declarations: (_)? @body) @definition.impl
(instance patterns: (_ . (variable)* . (_ type: (_ id: (name) @name))) declarations: (_)? @body) @definition.impl
(instance patterns: (_ . (variable)* . (_ type: (_ constructor: [(variable) (prefix_id) (prefix_tuple)] @name))) declarations: (_)? @body) @definition.impl
(instance patterns: (_ . (variable)* . (_ type: (_ constructor: [
    (name) @name
    (_ constructor: [(name) @name (_ constructor: [(name) @name (_ constructor: (name) @name)])])
  ]))) declarations: (_)? @body) @definition.impl
(instance patterns: (_ . (variable)* . (_ type: (_ constructor: [
    (_ id: (name) @name)
    (_ constructor: [(_ id: (name) @name) (_ constructor: (_ id: (name) @name))])
  ]))) declarations: (_)? @body) @definition.impl
(deriving_instance patterns: (_ . (variable)* . [(name) (list) (tuple) (unit) (prefix_id) (prefix_list) (prefix_tuple)] @name)) @definition.impl
(deriving_instance patterns: (_ . (variable)* . (variable) @name .)) @definition.impl
(deriving_instance patterns: (_ . (variable)* . (_ id: (name) @name))) @definition.impl
(deriving_instance patterns: (_ . (variable)* . (_ type: [(name) (list) (tuple) (function) (infix) (variable)] @name))) @definition.impl
(deriving_instance patterns: (_ . (variable)* . (_ type: (_ id: (name) @name)))) @definition.impl
(deriving_instance patterns: (_ . (variable)* . (_ type: (_ constructor: [(variable) (prefix_id) (prefix_tuple)] @name)))) @definition.impl
(deriving_instance patterns: (_ . (variable)* . (_ type: (_ constructor: [
    (name) @name
    (_ constructor: [(name) @name (_ constructor: [(name) @name (_ constructor: (name) @name)])])
  ])))) @definition.impl
(deriving_instance patterns: (_ . (variable)* . (_ type: (_ constructor: [
    (_ id: (name) @name)
    (_ constructor: [(_ id: (name) @name) (_ constructor: (_ id: (name) @name))])
  ])))) @definition.impl
((instance patterns: (_ . (variable)* . (_ type: (_) @name)) declarations: (_)? @body) @definition.impl
  (#match? @name "^[(]+,"))
(instance (_ left_operand: (_) @name operator: (_ (name) @base)) declarations: (_)? @body) @definition.impl

; Instantiated classes, and those a class asks for.
(instance name: [(name) @base (_ id: (name) @base)])
(deriving_instance name: [(name) @base (_ id: (name) @base)])
(class context: (_ [
  (_ constructor: [(name) @base (_ id: (name) @base)])
  (_ (_ constructor: [(name) @base (_ id: (name) @base)]))
]))

; Imports.
(import module: (_) @import.source) @import

; Calls: what is applied, composed, or run as a statement.
(apply function: [(variable) @call (_ id: (variable) @call)])
(infix_id [(variable) @call (_ id: (variable) @call)])
((_ left_operand: [(variable) @call (_ id: (variable) @call)] operator: (operator) @_operator)
  (#any-of? @_operator "$" "." "<$>" "<$!>" "$!" "=<<" ">=>" "<=<"))
((_ operator: (operator) @_operator right_operand: [(variable) @call (_ id: (variable) @call)])
  (#any-of? @_operator "." "&" "<&>" ">>=" ">=>" "<=<"))
(exp [(variable) @call (_ id: (variable) @call)])
(do (bind expression: [(variable) @call (_ id: (variable) @call)]))

; Branches.
[(alternative) (conditional) (guards)] @branch
((operator) @branch (#any-of? @branch "&&" "||"))

[(comment) (haddock)] @comment
(haskell (haddock) @docstring)
