; What JavaScript and TypeScript have in common.
; Declarations. What has parameters and a body is a function, what has a function is a call, what has a property is a member:
; a query of named nodes says the same, and takes three times as long to compile.
(variable_declarator name: (identifier) @name value: (class name: (_)? @name.inner body: (_) @body)) @definition.class
(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(method_definition name: (_) @name) @definition.method
(variable_declarator name: (identifier) @name value: [
  (_ name: (_)? @name.inner parameters: (_) body: (_) @body) (_ parameter: (_) body: (_) @body)
]) @definition.function
; const Button = memo(forwardRef((props) => { ... }))
(program (lexical_declaration (variable_declarator name: (identifier) @name value: (_ function: (_) arguments: (_ . [
  (_ parameters: (_) body: (statement_block) @body) (_ parameter: (_) body: (statement_block) @body)
]))) @definition.function))
(export_statement declaration: (lexical_declaration (variable_declarator name: (identifier) @name value: (_
  function: (_) arguments: (_ . [(_ parameters: (_) body: (statement_block) @body) (_ parameter: (_) body: (statement_block) @body)])
)) @definition.function))
(pair key: (_) @name value: [(_ parameters: (_) body: (statement_block) @body) (_ parameter: (_) body: (statement_block) @body)]) @definition.method
; module.exports = function () { ... }, exports.run = (x) => x
(assignment_expression
  left: [(identifier) @name (_ object: (_) @_object property: (_) @name)] @_left
  right: [(_ name: (_)? @name.inner parameters: (_) body: (_) @body) (_ parameter: (_) body: (_) @body)]
  (#not-match? @_left "^(module\\.)?exports$")
  (#match? @_object "^(module\\.)?exports$|^module$|^this$")) @definition.function
(assignment_expression left: [(identifier) @name (_ property: (_) @name)] @_left
  right: [(_ !name parameters: (_) body: (_) @body) (_ parameter: (_) body: (_) @body)]
  (#match? @_left "^(module\\.)?exports$")) @definition.function
(assignment_expression left: (_) @_left right: (_ name: (_) @name parameters: (_) body: (_) @body)
  (#match? @_left "^(module\\.)?exports$")) @definition.function
(assignment_expression
  left: (_ object: [
    (identifier) @receiver
    (_ object: (identifier) @receiver property: (property_identifier) @_prototype)
  ] property: (property_identifier) @name)
  right: [(_ name: (_)? @name.inner parameters: (_) body: (_) @body) (_ parameter: (_) body: (_) @body)]
  (#not-match? @receiver "^(module|exports)$")) @definition.method
; Several names of one function or class: exports.a = exports.b = function () { ... }
(assignment_expression
  left: [(identifier) @name (_ object: (_) @_object property: (_) @name)] @_left
  right: (assignment_expression right: [(_ body: (_) @body) (assignment_expression right: (_ body: (_) @body))])
  (#not-match? @_left "^(module\\.)?exports$")
  (#match? @_object "^(module\\.)?exports$|^module$|^this$")) @definition.function
(assignment_expression
  left: (_ object: [
    (identifier) @receiver
    (_ object: (identifier) @receiver property: (property_identifier) @_prototype)
  ] property: (property_identifier) @name)
  right: (assignment_expression right: [(_ body: (_) @body) (assignment_expression right: (_ body: (_) @body))])
  (#not-match? @receiver "^(module|exports)$")) @definition.method
(variable_declarator name: (identifier) @name value: (assignment_expression right: [
  (_ body: (_) @body) (assignment_expression right: (_ body: (_) @body))
])) @definition.function
(export_statement "default" @name value: [
  (_ !name parameters: (_) body: (_) @body) (_ parameter: (_) body: (_) @body)
]) @definition.function
(export_statement "default" @name value: (class !name body: (_) @body)) @definition.function
(program (expression_statement (_ left: (member_expression) @name "=" right: (object)) @definition.variable)
  (#not-match? @name "^[\\w$]+\\.prototype$"))
(export_statement "default" @name value: (object)) @definition.variable
((export_statement "default" @name value: (_ function: [(identifier) @_define (_ property: (_) @_define)] arguments: (_ . (object))))
  @definition.variable (#match? @_define "^define\\w*Component$|^extend$"))
(program (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable))
(program (variable_declaration (variable_declarator name: (identifier) @name) @definition.variable))
(export_statement declaration: (_ (variable_declarator name: (identifier) @name) @definition.variable))
(program (lexical_declaration "const" (variable_declarator name: (identifier) @name value: [(string) (number) (template_string) (true) (false) (regex) (unary_expression)]) @definition.constant))
(export_statement declaration: (lexical_declaration "const" (variable_declarator name: (identifier) @name value: [(string) (number) (template_string) (true) (false) (regex) (unary_expression)]) @definition.constant))

; Test cases and groups of them, which the callee tells apart: it.each(table)("adds %s", () => { ... }), t.test("adds", async (t) => { ... })
(call_expression function: (_) @callee arguments: (_ . (_) @name (_ body: (_) @body))) @definition.call
((call_expression function: (_ property: _ @_todo) @callee arguments: (_ . (string) @name .)) @definition.call
  (#eq? @_todo "todo"))

(export_statement) @wrapper
(program (lexical_declaration) @wrapper)
(program (variable_declaration) @wrapper)
(program (expression_statement (assignment_expression)) @wrapper)

; Imports.
(import_statement source: (string) @import.source) @import
(export_statement source: (string) @import.source) @import
((_ function: (identifier) @_require arguments: (_ . (string) @import.source .)) @import (#eq? @_require "require"))
(_ function: (import) arguments: (_ . (string) @import.source)) @import

; Calls.
(call_expression function: [
  (identifier) @call
  (_ property: [(property_identifier) (private_property_identifier)] @call)
])
(new_expression constructor: [(identifier) @call (_ property: (property_identifier) @call)])
(decorator [(identifier) @call (_ property: (property_identifier) @call)])

; Branches.
[
  (if_statement) (for_statement) (for_in_statement) (while_statement) (do_statement) (switch_case) (catch_clause) (ternary_expression)
] @branch
["&&" "||" "??"] @branch

(comment) @comment
