; Everything is a call. Wildcards stand for inner nodes, and at the root for a call, the only node with a target: with their
; names the query would take four times longer to compile.

; Modules. One that defines a structure is a struct, an implementation is named for its types.
((_ target: (identifier) @_keyword . (_ . [(alias) (dot)] @name) (do_block) @body) @definition.namespace
  (#eq? @_keyword "defmodule"))
((_ target: (identifier) @_keyword . (_ . [(alias) (dot)] @name) . (_ (_ target: (identifier) @_structure))) @definition.struct
  (#eq? @_keyword "defmodule")
  (#any-of? @_structure "defstruct" "defexception" "schema" "embedded_schema" "typedstruct"))
((_ target: (identifier) @_keyword . (_ . (alias) @name) (do_block) @body) @definition.interface
  (#eq? @_keyword "defprotocol"))
((_ target: (identifier) @_keyword . (_ . (alias) @name .) (do_block) @body) @definition.impl
  (#eq? @_keyword "defimpl"))
((_
  target: (identifier) @_keyword
  . (_ . [(alias) (dot)] @base (_ (_ key: (_) @_for value: [[(alias) (dot)] @name (list [(alias) (dot)] @name)])))
  (do_block) @body) @definition.impl
  (#eq? @_keyword "defimpl")
  (#match? @_for "^for:"))

; Functions: clauses that follow one another are one. A body is a block, or what stands behind the parameters' comma.
((_ target: (identifier) @_keyword . (_ . [(identifier) @name (_ target: [(identifier) (call)] @name)] ("," @body (keywords))?) (do_block)? @body)
  @definition.function @clause
  (#any-of? @_keyword "def" "defp" "defdelegate" "defn" "defnp"))
((_
  target: (identifier) @_keyword
  . (_ . (_ left: [(identifier) @name (_ target: (identifier) @name)] operator: "when") ("," @body (keywords))?)
  (do_block)? @body) @definition.function @clause
  (#any-of? @_keyword "def" "defp" "defn" "defnp"))
((_ target: (identifier) @_keyword . (_ . (_ left: (_) operator: _ @name right: (_)) ("," @body (keywords))?) (do_block)? @body)
  @definition.function @clause
  (#any-of? @_keyword "def" "defp" "defmacro")
  (#not-eq? @name "when"))
((_
  target: (identifier) @_keyword
  . (_
    . [(identifier) @name (_ target: [(identifier) (call)] @name) (_ left: (_ target: (identifier) @name) operator: "when")]
    ("," @body (keywords))?)
  (do_block)? @body) @definition.macro @clause
  (#any-of? @_keyword "defmacro" "defmacrop" "defguard" "defguardp"))

; ExUnit.
((_ target: (identifier) @_keyword . (_ . (string (quoted_content) @name)) (do_block) @body) @definition.function
  (#any-of? @_keyword "test" "property"))
((_ target: (identifier) @_keyword . (_ . (string (quoted_content) @name)) (do_block) @body) @definition.namespace
  (#eq? @_keyword "describe"))
((_ target: (identifier) @name (do_block) @body) @definition.function
  (#any-of? @name "setup" "setup_all" "using"))

; Module attributes: types, callbacks, what says something of the declaration below, and constants.
((unary_operator operand: (_ target: (identifier) @_attribute (_ . (_
  left: [(identifier) @name (_ target: (identifier) @name)])))) @definition.type_alias
  (#any-of? @_attribute "type" "typep" "opaque"))
((unary_operator operand: (_ target: (identifier) @_attribute (_ . (_ left: (_ target: (identifier) @name))))) @definition.function
  (#any-of? @_attribute "callback" "macrocallback"))
((unary_operator operand: (_ target: (identifier) @_attribute (_ . (_ left: (_ left: (_ target: (identifier) @name))))))
  @definition.function
  (#any-of? @_attribute "callback" "macrocallback"))
((_ operator: "@" operand: (_ target: (identifier) @_attribute)) @attribute
  (#any-of? @_attribute
    "doc" "typedoc" "spec" "impl" "deprecated" "since" "dialyzer" "tag" "describetag" "derive" "enforce_keys" "decorate"))
((unary_operator operator: "@" operand: (_ target: (identifier) @name (arguments))) @definition.constant
  (#not-match? @name
    "^(after_compile|after_verify|author|before_compile|behaviour|callback|compile|decorate|deprecated|derive|describetag|dialyzer|doc|enforce_keys|external_resource|fallback_to_any|impl|macrocallback|moduledoc|moduletag|on_definition|on_load|opaque|optional_callbacks|shortdoc|since|spec|tag|type|typedoc|typep|vsn)$"))
((unary_operator operand: (_ target: (identifier) @_attribute (_ . [(string) (sigil)] @docstring)))
  (#any-of? @_attribute "doc" "moduledoc" "typedoc"))

; Behaviours, and modules whose code is taken over.
((unary_operator operand: (_ target: (identifier) @_attribute (_ . (alias) @base)))
  (#eq? @_attribute "behaviour"))
((_ target: (identifier) @_keyword . (_ . (alias) @base @import.source)) @import
  (#eq? @_keyword "use"))

; Imports.
((_ target: (identifier) @_keyword . (_ . [(alias) (dot)] @import.source)) @import
  (#any-of? @_keyword "alias" "import" "require"))

; Calls. Without parentheses what follows the dot of a variable is a field.
((call target: [(identifier) @call (_ left: (alias) right: (identifier) @call)])
  (#not-match? @call
    "^(alias|before_compile|behaviour|callback|case|cond|def|defdelegate|defexception|defguard|defguardp|defimpl|defmacro|defmacrop|defmodule|defn|defnp|defoverridable|defp|defprotocol|defstruct|describe|external_resource|fallback_to_any|for|if|import|macrocallback|moduledoc|moduletag|opaque|optional_callbacks|quote|receive|require|setup|shortdoc|t|test|try|type|typep|unless|unquote|use|with)$"))
(call target: (_ right: (identifier) @call) (arguments))
(_ operator: "|>" right: (identifier) @call)
(unary_operator operator: "&" operand: (_ left: (identifier) @call operator: "/"))

; Branches.
(call (_ (stab_clause) @branch))
(else_block (stab_clause) @branch)
(rescue_block (stab_clause) @branch)
(catch_block (stab_clause) @branch)
(anonymous_function (stab_clause) . (stab_clause) @branch)
((_ target: (identifier) @_keyword) @branch (#any-of? @_keyword "if" "unless" "for"))
["&&" "||" "and" "or"] @branch

(comment) @comment
