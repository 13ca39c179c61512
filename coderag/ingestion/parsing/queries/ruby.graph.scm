; What the code graph needs; the captures are explained in facts.py. A method that is the first child, `. method:`, has no
; receiver; the query compiles faster than with `!receiver`.

(call) @call
(assignment left: (call) @call.setter)
(left_assignment_list (call) @call.setter)
(identifier) @call.bare
(super) @call.super

; Imports.
((_ . method: (identifier) @_require arguments: (_ . (string (string_content) @import.module)))
  (#any-of? @_require "require" "load"))
((_ . method: (identifier) @_require arguments: (_ . (string (string_content) @import.module))) @import.relative
  (#eq? @_require "require_relative"))
((_ . method: (identifier) @_require arguments: (_ (simple_symbol) . (string (string_content) @import.module)))
  (#eq? @_require "autoload"))
(program (_ . method: (identifier) @_mix arguments: (_ [(constant) (scope_resolution)] @import.module)) @import.all
  (#eq? @_mix "include"))

; Types: every constant is a reference.
[(constant) (scope_resolution)] @type
(superclass [(constant) (scope_resolution)] @base.inherits)
(superclass (element_reference object: (_) @base.inherits))
((assignment right: (_ receiver: (constant) @_class arguments: (_ . [(constant) (scope_resolution)] @base.inherits)))
  (#eq? @_class "Class"))
(_ name: [(constant) (scope_resolution)] body: (_ (_
    . method: (identifier) @_mix arguments: (_ [(constant) (scope_resolution)] @base.implements)))
  (#any-of? @_mix "include" "extend" "prepend"))
(singleton_class body: (_ (_
    . method: (identifier) @_mix arguments: (_ [(constant) (scope_resolution)] @base.implements)))
  (#eq? @_mix "include"))

; Methods of the type itself.
(singleton_method "def" @modifier.static)
(singleton_class body: (_ (method "def" @modifier.static)))
(singleton_class body: (_ (_ arguments: (_ (method "def" @modifier.static)))))
((_ method: (identifier) @_block block: (_ body: (_ (method "def" @modifier.static)))) (#eq? @_block "class_methods"))

; Returned values.
(method body: (body_statement (_) @return .))
(singleton_method body: (body_statement (_) @return .))
(method body: [(call) (identifier) (instance_variable)] @return)
(singleton_method body: [(call) (identifier) (instance_variable)] @return)
(return (argument_list . (_) @return .))

; Names for values.
((_ receiver: (_) @elements method: (identifier) @_each block: (_ parameters: (_ . (identifier) @bind)))
  (#any-of? @_each "each" "each_with_index" "map" "flat_map" "select" "reject" "find" "detect" "any?" "all?" "none?" "sum"
    "filter_map" "sort_by" "group_by" "partition" "find_each" "each_with_object" "min_by" "max_by" "to_h" "index_by"))
[(block) (do_block) (lambda)] @block
(_ parameters: (_ (identifier) @bind))
(optional_parameter name: (_) @bind value: (_) @value)
(keyword_parameter name: (_) @bind)
[(splat_parameter name: (_) @bind) (hash_splat_parameter name: (_) @bind) (block_parameter name: (_) @bind)]
(destructured_parameter (identifier) @bind)
(assignment left: [(identifier) (constant)] @bind right: (_) @value)
(operator_assignment left: (identifier) @bind right: (_) @value)
(assignment left: [(instance_variable) (class_variable)] @bind.member right: (_) @value)
(operator_assignment left: [(instance_variable) (class_variable)] @bind.member right: (_) @value)
(left_assignment_list (identifier) @bind)
(left_assignment_list (_ (identifier) @bind))
(rescue exceptions: (_ . (_) @made .) variable: (_ (identifier) @bind))
(exception_variable (identifier) @bind)
(for pattern: (identifier) @bind)
((_ method: (identifier) @_let arguments: (_ . (simple_symbol) @bind) block: (_ body: (_ (_) @value .)))
  (#any-of? @_let "let" "let!" "subject"))

; Methods named by symbols: callbacks of the class, dynamic calls, aliases.
((_ . method: (identifier) @_macro arguments: (_ (simple_symbol) @read.callback))
  (#not-match? @_macro "^(?:attr|[cm]attr|thread_|class_attribute|private|public|protected|module_function|define|delegate|alias_method|undef|let|subject)"))
((_ . method: (_) arguments: (_ (pair key: (_) @_option value: (simple_symbol) @read.callback)))
  (#match? @_option "^:?(?:if|unless|with|to)$"))
((_ receiver: (_) @read.owner method: (identifier) @_dynamic arguments: (_ . (simple_symbol) @read.callable))
  (#any-of? @_dynamic "send" "public_send" "__send__" "method" "instance_method" "public_method" "try" "respond_to?"))
((_ . method: (identifier) @_dynamic arguments: (_ . (simple_symbol) @read.callable))
  (#any-of? @_dynamic "send" "public_send" "__send__" "method" "instance_method" "public_method" "respond_to?"))
(alias alias: (identifier) @read.callable)
(pair value: (simple_symbol) @read.named)
(array (simple_symbol) @read.named)
((_ . method: (identifier) @_alias arguments: (_ (simple_symbol) . (simple_symbol) @read.callable))
  (#eq? @_alias "alias_method"))
