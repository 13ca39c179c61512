; Functions. The table they are put into is their receiver.
(function_declaration name: [
  (identifier) @name
  (dot_index_expression table: (_) @receiver field: (identifier) @name)
  (method_index_expression table: (_) @receiver method: (identifier) @name)
]) @definition.function
(assignment_statement
  (variable_list . name: [
    (identifier) @name
    (dot_index_expression table: (_) @receiver field: (identifier) @name)
    (bracket_index_expression table: (_) @receiver field: (string content: (_) @name))
  ])
  (expression_list . value: (function_definition body: (_)? @body))) @definition.function
(variable_declaration (assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (function_definition body: (_)? @body)))) @definition.function
(table_constructor (field
  name: [(identifier) @name (string content: (_) @name)]
  value: (function_definition body: (_)? @body)) @definition.method)

; Test cases and groups of them.
((function_call
  name: (identifier) @_case
  arguments: (_ . [(string) (binary_expression)] @name . (function_definition body: (_)? @body))) @definition.case
  (#any-of? @_case "it" "test" "spec" "specify" "pending"))
((function_call
  name: (identifier) @_group
  arguments: (_ . (_) @name . (function_definition body: (_)? @body))) @definition.group
  (#any-of? @_group "describe" "context" "insulate" "expose"))

; Variables of the file, and what it puts into its tables.
(chunk (variable_declaration [
  (assignment_statement (variable_list name: (identifier) @name))
  (variable_list name: (identifier) @name)
]) @definition.variable)
(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name attribute: (_)))) @definition.constant)
((chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name))) @definition.constant)
  (#match? @name "^[A-Z][A-Z0-9]*_[A-Z0-9_]+$"))
(chunk (assignment_statement (variable_list name: (identifier) @name)) @definition.variable)
((chunk (assignment_statement (variable_list name: (dot_index_expression table: (_) @receiver field: (identifier) @name)))
  @definition.variable)
  (#not-eq? @name "__index"))

; Classes, in the ways of the usual libraries: class("Name", Base), Base:extend(), setmetatable({}, { __index = Base }).
((variable_declaration (assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (function_call name: (identifier) @_class arguments: (arguments (identifier)? @base)))))
  @definition.class
  (#any-of? @_class "class" "Class"))
((assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (function_call name: (identifier) @_class arguments: (arguments (identifier)? @base))))
  @definition.class
  (#any-of? @_class "class" "Class"))
((variable_declaration (assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (function_call name: (method_index_expression table: (identifier) @base method: (identifier) @_method)))))
  @definition.class
  (#any-of? @_method "extend" "subclass"))
((variable_declaration (assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (function_call
    name: (identifier) @_function
    arguments: (arguments . (_) . (table_constructor (field name: (identifier) @_key value: (identifier) @base)))))))
  @definition.class
  (#eq? @_function "setmetatable")
  (#eq? @_key "__index"))

; Imports.
((function_call name: (identifier) @_function arguments: (arguments . [
  (string content: (_) @import.source)
  (dot_index_expression) @import.source
])) @import
  (#any-of? @_function "require" "dofile" "loadfile"))

; Calls.
(function_call name: [
  (identifier) @call
  (dot_index_expression field: (identifier) @call)
  (method_index_expression method: (identifier) @call)
])

; Branches.
[(if_statement) (elseif_statement) (for_statement) (while_statement) (repeat_statement) "and" "or"] @branch

(comment) @comment
((chunk . (comment) @docstring)
  (#match? @docstring "^--(-|\\[)"))
