; What the code graph needs; the captures are explained in facts.py. Every construct is a call or an attribute: forms.py
; tells them apart by their keyword, since patterns with keywords compile slowly.

(call) @form
(unary_operator operator: ["&" "@"]) @form
(binary_operator operator: "|>" right: [(call) (identifier)] @form.piped)

((sigil (sigil_name) @_name (quoted_content) @form.template) (#any-of? @_name "H" "E" "L"))

; Names for values.
(binary_operator left: (_) @form.pattern operator: ["=" "<-"])
(stab_clause left: (_) @form.pattern)
(binary_operator left: (identifier) @bind operator: "=" right: [(alias) (dot)] @value)

; Names mentioned as values, functions among them: `{Worker, :run, [1]}`, and calls without parentheses.
(struct . [(alias) (dot)] @form.struct)
(alias) @form.module
(_ [(alias) (identifier)] @form.owner . (atom) @form.function . (list))
(do_block (identifier) @form.name)
(body (identifier) @form.name)
(pair value: (identifier) @form.name)
(binary_operator operator: "=" right: (identifier) @form.name)
(binary_operator left: (identifier) @form.name operator: "|>")
