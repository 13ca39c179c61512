; Declarations, under the names by which the rest of a configuration refers to them: `aws_vpc.main`, `data.aws_ami.ubuntu`,
; `module.network`, `var.region`, `local.tags`. The blocks of Packer, Nomad and Terragrunt read alike.
(config_file (body (block
  . (identifier) @_block
  . (string_lit (template_literal) @receiver)
  . (string_lit (template_literal) @name)
  . (block_start) @body) @definition.resource)
  (#eq? @_block "resource"))
(config_file (body (block
  . (identifier) @receiver @_block
  . (string_lit (template_literal) @receiver)
  . (string_lit (template_literal) @name)
  . (block_start) @body) @definition.resource)
  (#not-eq? @_block "resource"))
(config_file (body (block
  . (identifier) @receiver @_block
  . (string_lit (template_literal) @name)
  . (block_start) @body) @definition.resource)
  (#not-match? @_block "^(variable|output)$"))
(config_file (body (block
  . (identifier) @receiver.var @_block
  . (string_lit (template_literal) @name)
  . (block_start) @body) @definition.variable)
  (#eq? @_block "variable"))
(config_file (body (block
  . (identifier) @receiver @_block
  . (string_lit (template_literal) @name)
  . (block_start) @body) @definition.variable)
  (#eq? @_block "output"))
(config_file (body (block
  . (identifier) @receiver.local @_block
  (body (attribute . (identifier) @name) @definition.variable)))
  (#eq? @_block "locals"))
(config_file (body (block . (identifier) @name . (block_start) @body) @definition.resource)
  (#not-match? @name "^(locals|moved|import|removed)$"))

; A file of values for variables.
(config_file (body (attribute . (identifier) @name) @definition.variable))

(config_file (body (block (body (attribute
  . (identifier) @_attribute
  (expression (literal_value (string_lit (template_literal) @docstring)))))))
  (#eq? @_attribute "description"))
(config_file (body (block . (identifier) @_block (body (attribute
  . (identifier) @_attribute
  (expression (literal_value (string_lit (template_literal) @import.source)))) @import)))
  (#eq? @_block "module")
  (#eq? @_attribute "source"))

; Calls, and what an expression refers to: `var.region`, `module.network.id`, `aws_vpc.main.id`, `data.aws_ami.ubuntu.id`.
(function_call . (identifier) @call)
((variable_expr (identifier) @_root) . (get_attr (identifier) @call)
  (#not-match? @_root "^(data|each|count|self|path|terraform)$"))
((variable_expr (identifier) @_root) . (get_attr) . (get_attr (identifier) @call)
  (#eq? @_root "data"))

; Branches.
[(conditional) (for_expr)] @branch
["&&" "||"] @branch

(comment) @comment
