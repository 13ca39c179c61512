; Functions, macros, targets, and the variables that a user may set.
(function_def (function_command (argument_list . (argument) @name)) (body) @body) @definition.function
(macro_def (macro_command (argument_list . (argument) @name)) (body) @body) @definition.macro
((normal_command . (identifier) @_command (argument_list . (argument) @name)) @definition.rule
  (#match? @_command "^(?i:add_(library|executable|custom_target|test)|project)$"))
((normal_command . (identifier) @_command (argument_list . (argument) @name)) @definition.variable
  (#match? @_command "^(?i:set|option)$"))

((normal_command . (identifier) @_command (argument_list . (argument) @import.source)) @import
  (#match? @_command "^(?i:include|find_package|add_subdirectory)$"))

((normal_command . (identifier) @call)
  (#not-match? @call "^(?i:set|unset|option|list|string|message|include|return|math|file|if|endif)$"))

[(if_condition) (elseif_command) (foreach_loop) (while_loop)] @branch

[(line_comment) (bracket_comment)] @comment
