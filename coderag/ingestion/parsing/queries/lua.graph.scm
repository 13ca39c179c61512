; What the code graph needs; the captures are explained in facts.py.

(function_call name: [(identifier) (dot_index_expression) (method_index_expression)] @call)

; Imports.
((assignment_statement
  (variable_list . name: (identifier) @import.namespace)
  (expression_list . value: (function_call name: (identifier) @_function arguments: (arguments . (string content: (_) @import.module)))))
  (#eq? @_function "require"))
((function_call name: (identifier) @_function arguments: (arguments . (string content: (_) @import.module)))
  (#any-of? @_function "require" "dofile" "loadfile"))

; The value of the module: what the file returns.
(chunk (return_statement "return" @bind (expression_list . [(identifier) (dot_index_expression)] @value)))
((chunk (return_statement "return" @bind (expression_list . (function_call name: (identifier) @_function arguments: (arguments . (identifier) @value)))))
  (#eq? @_function "setmetatable"))
(chunk (return_statement "return" @import.exported
  (expression_list . (table_constructor (field name: (identifier) @import.alias value: (identifier) @import.name)))))

; Base classes.
((variable_declaration (assignment_statement
  (expression_list . value: (function_call name: (identifier) @_class arguments: (arguments (identifier)? @base)))))
  (#any-of? @_class "class" "Class"))
((variable_declaration (assignment_statement
  (expression_list . value: (function_call name: (method_index_expression table: (identifier) @base method: (identifier) @_method)))))
  (#any-of? @_method "extend" "subclass"))

; Functions.
(function_declaration "local" @modifier)
(chunk (variable_declaration "local" @modifier.each))
(function_definition) @function
(return_statement (expression_list . [(identifier) (function_call) (dot_index_expression)] @return))
((return_statement (expression_list . (function_call name: (identifier) @_function arguments: (arguments (_) . (identifier) @return))))
  (#eq? @_function "setmetatable"))

((block (function_call name: (identifier) @_function arguments: (arguments . (identifier) . (identifier) @return)))
  (#eq? @_function "setmetatable"))

; Names for values.
(for_generic_clause (variable_list name: (identifier) @bind))
(for_numeric_clause name: (identifier) @bind)
(assignment_statement
  (variable_list . name: (identifier) @bind)
  (expression_list . value: [(identifier) (function_call) (dot_index_expression)] @value))
(block (variable_declaration (assignment_statement
  (variable_list name: (identifier) @bind)
  (expression_list . value: [(number) (string) (table_constructor) (true) (false) (nil) (binary_expression) (unary_expression) (vararg_expression)]))))
((assignment_statement
  (variable_list . name: (identifier) @bind)
  (expression_list . value: (function_call name: (identifier) @_function arguments: (arguments (_) . (identifier) @made))))
  (#eq? @_function "setmetatable"))

; Names mentioned as values.
(arguments [(identifier) (dot_index_expression)] @read)
(field value: [(identifier) (dot_index_expression)] @read)
(assignment_statement (expression_list value: [(identifier) (dot_index_expression)] @read))
(return_statement (expression_list [(identifier) (dot_index_expression)] @read))

; Where local names are known.
[(do_statement) (for_statement) (while_statement) (repeat_statement)] @block
