; A rule has the names of its selectors; one of tags and states alone, such as `a:hover`, says nothing to look for.
((rule_set (selectors (_) @name)) @definition.rule
  (#match? @name "[.#%]|^[_-]"))
; Its body with the first of them only: matching takes cubic time where all wait for it.
((rule_set (selectors . (_) @name) (block) @body) @definition.rule
  (#match? @name "[.#%]|^[_-]"))
(keyframes_statement (keyframes_name) @name) @definition.rule

; A condition around rules is named for its keyword.
(media_statement "@media" @name (block . (rule_set)) @body) @definition.rule
(supports_statement "@supports" @name (block . (rule_set)) @body) @definition.rule
(at_rule . (at_keyword) @name (block . (rule_set)) @body) @definition.rule

((declaration . (property_name) @name) @definition.variable
  (#match? @name "^(--|\\$)"))

(import_statement [(string_value) @import.source (call_expression (arguments (_) @import.source))]) @import

(comment) @comment
