; Declarations. A function inside a class becomes a method in the core. The wildcards are blocks: their name takes longer to
; compile, and nothing else holds an assignment there.
(class_definition name: (identifier) @name) @definition.class
(function_definition name: (identifier) @name) @definition.function
(decorated_definition) @wrapper
(type_alias_statement left: (type (identifier) @name)) @definition.type_alias
(type_alias_statement left: (type (generic_type . (identifier) @name))) @definition.type_alias
(module (assignment left: [(identifier) @name (pattern_list (identifier) @name)]) @definition.variable)
((module (assignment left: (identifier) @name) @definition.constant) (#match? @name "^_*[A-Z][A-Z0-9_]+$"))
(module (if_statement (_ (assignment left: (identifier) @name) @definition.variable)))
(module (try_statement (_ (assignment left: (identifier) @name) @definition.variable)))
(class_definition body: (_ (assignment left: (identifier) @name) @definition.field))

(class_definition superclasses: (argument_list [
  (identifier) @base
  (_ attribute: (identifier) @base)
  (_ value: (identifier) @base subscript: (_))
  (_ value: (_ attribute: (identifier) @base) subscript: (_))
]))

; Docstrings.
(class_definition body: (_ . (string) @docstring))
(function_definition body: (_ . (string) @docstring))
(module . (comment)* . (string) @docstring)

; Imports.
(import_statement name: [(dotted_name) @import.source (aliased_import name: (dotted_name) @import.source)]) @import
(import_from_statement module_name: (_) @import.source) @import
(future_import_statement "__future__" @import.source) @import

; Calls.
(call function: (identifier) @call)
(call function: (attribute attribute: (identifier) @call))
(decorator (identifier) @call)
(decorator (attribute attribute: (identifier) @call))

; Branches.
[
  (if_statement) (elif_clause) (for_statement) (while_statement) (except_clause) (case_clause)
  (conditional_expression) (boolean_operator) (if_clause) (for_in_clause) (assert_statement)
] @branch

(comment) @comment
