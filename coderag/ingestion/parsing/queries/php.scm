; Declarations.
(namespace_definition name: (namespace_name) @name body: (_)) @definition.namespace
(class_declaration name: (name) @name) @definition.class
(interface_declaration name: (name) @name) @definition.interface
(trait_declaration name: (name) @name) @definition.trait
(enum_declaration name: (name) @name) @definition.enum
(enum_case name: (name) @name) @definition.field
(function_definition name: (name) @name) @definition.function
(method_declaration name: (name) @name) @definition.function
(const_declaration (const_element . (name) @name)) @definition.constant
((function_call_expression
  function: (name) @_function
  arguments: (arguments . (argument (string (string_content) @name)))) @definition.constant
  (#eq? @_function "define"))
(property_declaration (property_element name: (variable_name (name) @name))) @definition.field

; Test cases and groups of them.
((function_call_expression
  function: (name) @_case
  arguments: (_ . (_ [(string) (encapsed_string) (binary_expression)] @name) . (_ (_ body: (_) @body)))) @definition.case
  (#any-of? @_case "it" "test"))
((function_call_expression
  function: (name) @_group
  arguments: (_ . (_ [(string) (encapsed_string) (binary_expression)] @name) . (_ (_ body: (_) @body)))) @definition.group
  (#eq? @_group "describe"))

; Extended and implemented types, and traits used.
(base_clause [(name) @base (qualified_name (name) @base)])
(class_interface_clause [(name) @base (qualified_name (name) @base)])
(use_declaration [(name) @base (qualified_name (name) @base)])

; Imports. Of a path that is put together, as in `__DIR__ . '/a.php'`, the literal parts are taken.
(namespace_use_declaration (namespace_use_clause [(name) (qualified_name)] @import.source)) @import
(namespace_use_declaration (namespace_name) @import.source body: (namespace_use_group)) @import
(include_expression [
  (string (string_content) @import.source)
  (_ (string (string_content) @import.source))
  (_ (_ (string (string_content) @import.source)))
]) @import
(include_once_expression [
  (string (string_content) @import.source)
  (_ (string (string_content) @import.source))
  (_ (_ (string (string_content) @import.source)))
]) @import
(require_expression [
  (string (string_content) @import.source)
  (_ (string (string_content) @import.source))
  (_ (_ (string (string_content) @import.source)))
]) @import
(require_once_expression [
  (string (string_content) @import.source)
  (_ (string (string_content) @import.source))
  (_ (_ (string (string_content) @import.source)))
]) @import

; Calls.
(function_call_expression function: [(name) @call (qualified_name (name) @call) (relative_name (name) @call)])
(member_call_expression name: (name) @call)
(nullsafe_member_call_expression name: (name) @call)
(scoped_call_expression name: (name) @call)
(object_creation_expression [(name) @call (qualified_name (name) @call)])

; Branches.
[
  (if_statement) (else_if_clause) (while_statement) (do_statement) (for_statement) (foreach_statement) (case_statement)
  (catch_clause) (conditional_expression) (match_conditional_expression)
] @branch
["&&" "||" "and" "or"] @branch

(comment) @comment
