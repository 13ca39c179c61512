; Declarations. Only what stands at the top of a file is a variable of it.
(function_definition name: (word) @name) @definition.function
(program (variable_assignment name: (variable_name) @name) @definition.variable)
(program (declaration_command (variable_assignment name: (variable_name) @name) @definition.variable))
(program (declaration_command "readonly" (variable_assignment name: (variable_name) @name) @definition.constant))
((program (declaration_command (word) @_option (variable_assignment name: (variable_name) @name) @definition.constant))
  (#match? @_option "^-\\w*r"))
((command
  name: (command_name) @_command
  argument: [(word) @name.assigned @definition.macro (concatenation . (word) @name.assigned) @definition.macro])
  (#eq? @_command "alias")
  (#match? @name.assigned "^[^-=][^=]*="))
(program (declaration_command) @wrapper)

; `:||name(){`, as which a test of Bats is read.
(list . (command) . (function_definition)) @wrapper

; Imports.
((command
  name: (command_name) @_command
  . argument: [(word) (string) (raw_string) (concatenation) (simple_expansion) (expansion)] @import.source) @import
  (#any-of? @_command "source" "." "load" "bats_load_library"))

; Calls: any command that is no builtin of every shell, as only all files together say which are functions.
((command_name (word) @call)
  (#match? @call "^[A-Za-z_]")
  (#not-match? @call "^(echo|printf|cd|local|return|exit|set|shift|read|test|true|false|eval|exec|source|trap|unset|alias|command|builtin|type|wait|kill|pwd|let|break|continue|getopts|export|readonly|declare|typeset|umask|shopt|setopt|autoload|load|run)$"))
((command name: (command_name) @_command . argument: (word) @call)
  (#any-of? @_command "run" "trap")
  (#match? @call "^[A-Za-z_][\\w:.-]*$"))

; Branches.
[(if_statement) (elif_clause) (for_statement) (c_style_for_statement) (while_statement) (case_item) (ternary_expression)] @branch
["&&" "||"] @branch

(comment) @comment
