; Declarations. A name given as a symbol keeps its colon here: the grammar has no node inside one. The wildcards stand for
; what has a name or a receiver, such as `A::B`: a query of named nodes says the same and takes longer to compile.
(module name: [(constant) @name (_ scope: (_) @receiver name: (constant) @name)]) @definition.namespace
(class name: [(constant) @name (_ scope: (_) @receiver name: (constant) @name)]) @definition.class
(method name: (_) @name) @definition.function
(singleton_method name: (_) @name) @definition.function
(alias name: [(identifier) (operator) (setter) (simple_symbol)] @name) @definition.function
((_
  method: (identifier) @_method
  arguments: (_ . [(simple_symbol) @name (string (string_content) @name)])) @definition.function
  (#any-of? @_method "define_method" "define_singleton_method" "alias_method"))
((call
  !receiver
  method: (identifier) @_method
  arguments: (_ (simple_symbol) @name)) @definition.field
  (#any-of? @_method
    "attr_accessor" "attr_reader" "attr_writer" "attr" "class_attribute" "cattr_accessor" "cattr_reader" "mattr_accessor"
    "mattr_reader" "thread_mattr_accessor"))

; Test cases and groups of them.
((call method: (identifier) @_method arguments: (_ . [(string) (chained_string) (binary)] @name) block: (_) @body) @definition.case
  (#any-of? @_method
    "it" "test" "specify" "example" "scenario" "should" "fit" "xit" "focus" "fspecify" "xspecify" "fexample" "xexample" "xscenario"))
((call method: (identifier) @_method arguments: (_ . (_) @name . (string)? @name) block: (_) @body) @definition.group
  (#any-of? @_method
    "describe" "context" "feature" "shared_examples" "shared_examples_for" "shared_context" "example_group" "fdescribe" "xdescribe"
    "fcontext" "xcontext"))

; Constants. One that holds a new class is a class.
((assignment left: [(constant) @name (_ scope: (_) @receiver name: (constant) @name)] right: (_) @_value) @definition.constant
  (#not-match? @_value "^(Struct|Class|Module|Data)\\.(new|define)\\b"))
((assignment
  left: [(constant) @name (_ scope: (_) @receiver name: (constant) @name)]
  right: (_ receiver: (constant) @_receiver method: (identifier) @_method block: (_)? @body)) @definition.class
  (#any-of? @_receiver "Struct" "Class" "Module" "Data")
  (#any-of? @_method "new" "define"))
(operator_assignment left: (constant) @name) @definition.constant

; Extended classes, and modules mixed in.
(superclass [
  (constant) @base
  (_ name: (constant) @base)
  (_ receiver: [(constant) @base (_ name: (constant) @base)])
  (_ object: [(constant) @base (_ name: (constant) @base)])
])
((call
  !receiver
  method: (identifier) @_method
  arguments: (_ [(constant) @base (_ name: (constant) @base)]))
  (#any-of? @_method "include" "extend" "prepend"))

; Imports.
((call
  !receiver
  method: (identifier) @_method
  arguments: (_ (string (string_content) @import.source))) @import
  (#any-of? @_method "require" "require_relative" "load" "autoload"))

; Calls. A name that is a statement of its own, and not the last, can only be one.
(_ method: [(identifier) (constant)] @call)
((_ receiver: [(constant) @call (_ name: (constant) @call)] method: (identifier) @_method)
  (#eq? @_method "new"))
(body_statement (identifier) @call . (_))
(if_modifier body: (identifier) @call)
(unless_modifier body: (identifier) @call)

; Branches.
[
  (if) (elsif) (unless) (if_modifier) (unless_modifier) (while) (until) (while_modifier) (until_modifier) (for) (when)
  (in_clause) (rescue) (rescue_modifier) (conditional)
  "&&" "||" "and" "or"
] @branch

(comment) @comment
