; What SCSS has beside CSS.
(mixin_statement name: (identifier) @name (block) @body) @definition.function
(function_statement name: (identifier) @name (block) @body) @definition.function
(rule_set (selectors (placeholder) @name)) @definition.rule
(use_statement (string_value) @import.source) @import
(forward_statement (string_value) @import.source) @import

(include_statement . (identifier) @call)
(call_expression (function_name) @call)

(js_comment) @comment

[(if_statement) (else_clause) (each_statement) (for_statement) (while_statement)] @branch
