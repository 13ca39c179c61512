; Declarations. The grammar has a field for receivers only. A wildcard is what holds a name: it compiles in less time than
; the name of that node does.
(class_declaration . (modifiers)? . "class" . (type_identifier) @name [(class_body) @body]?) @definition.class
(class_declaration "interface" . (type_identifier) @name [(class_body) @body]?) @definition.interface
(class_declaration "enum" . "class" . (type_identifier) @name [(enum_class_body) @body]?) @definition.enum
(object_declaration (type_identifier) @name [(class_body) @body]?) @definition.class
(enum_entry (simple_identifier) @name) @definition.field
(class_parameter (binding_pattern_kind) . (simple_identifier) @name) @definition.field
(type_alias (type_identifier) @name) @definition.type_alias
(secondary_constructor "constructor" @name ["{" @body]?) @definition.function
(function_declaration !receiver (simple_identifier) @name [(function_body) @body]?) @definition.function
(function_declaration receiver: (receiver_type [
  (user_type) @receiver
  (nullable_type (user_type) @receiver)
  (parenthesized_type)
]) (simple_identifier) @name [(function_body) @body]?) @definition.function

; Properties, but none inside a function or a lambda. One with code of its own is a function. Its getter and setter stand
; beside it if they begin on a line of their own.
(source_file (_ (binding_pattern_kind) . (_ . (simple_identifier) @name)) @definition.variable)
(class_body (_ (binding_pattern_kind) . (_ . (simple_identifier) @name)) @definition.field)
(enum_class_body (_ (binding_pattern_kind) . (_ . (simple_identifier) @name)) @definition.field)
((property_declaration (_ (property_modifier) @_modifier) . (_) . (_ . (simple_identifier) @name)) @definition.constant
  (#eq? @_modifier "const"))
(property_declaration
  receiver: (receiver_type [(user_type) @receiver (nullable_type (user_type) @receiver)])
  . (_ . (simple_identifier) @name)) @definition.field
(property_declaration (_ . (simple_identifier) @name) . (getter) @body) @definition.function
((property_declaration [
    (binding_pattern_kind)
    (receiver_type [(user_type) @receiver (_ (user_type) @receiver)])
  ] . (_ . (simple_identifier) @name)) @definition.function
  . [(getter (function_body)) (setter (function_body))] @body @definition.function
  . [(getter) (setter)]? @definition.function)

; The members of a companion without a name are those of its class; its first line goes with the first of them.
(companion_object (type_identifier) @name [(class_body) @body]?) @definition.class
(companion_object "companion" @attribute "object" . [":" (class_body)])
(companion_object (modifiers) @attribute . "companion" "object" . [":" (class_body)])

; Test cases and groups of them. In a class whose type is a `Spec`, any string before a block names one.
((call_expression
  . (simple_identifier) @_case
  (call_suffix (value_arguments . (_ (string_literal) @name)) (annotated_lambda) @body)) @definition.case
  (#any-of? @_case "test" "it" "should" "expect" "scenario" "xtest" "xit" "xshould" "xexpect" "xscenario" "then" "Then" "`then`"))
((call_expression
  . (simple_identifier) @_group
  (call_suffix (value_arguments . (_ (string_literal) @name)) (annotated_lambda) @body)) @definition.group
  (#any-of? @_group
    "describe" "context" "feature" "given" "Given" "`when`" "When" "group" "xdescribe" "xcontext" "xfeature" "xgiven" "xwhen"))
((call_expression
  . (_ . (call_expression . (simple_identifier) @_case (_ (value_arguments . (_ (string_literal) @name)))) (navigation_suffix))
  (call_suffix (annotated_lambda) @body)) @definition.case
  (#any-of? @_case "test" "it" "should" "expect" "scenario"))
((call_expression
  . [(string_literal) @name (_ . (string_literal) @name (navigation_suffix (simple_identifier) @_config))]
  (call_suffix (annotated_lambda) @body)) @definition.case.spec)
((infix_expression . (string_literal) @name . (simple_identifier) @_verb . (lambda_literal) @body) @definition.group.spec
  (#any-of? @_verb "should" "When" "`when`" "describe"))

; Extended and implemented types. A qualified one ends in its own name.
(class_declaration (delegation_specifier [
  (_ (type_identifier) @base . (type_arguments)? .)
  (_ . (_ (type_identifier) @base . (type_arguments)? .))
]))
(object_declaration (delegation_specifier [
  (_ (type_identifier) @base . (type_arguments)? .)
  (_ . (_ (type_identifier) @base . (type_arguments)? .))
]))

; Imports.
(import_header (identifier) @import.source) @import

; Calls.
(call_expression . [(simple_identifier) @call (_ (navigation_suffix (simple_identifier) @call))])
(infix_expression (_) . (simple_identifier) @call . (_))
(callable_reference (simple_identifier) @call .)

; Branches.
[(if_expression) (for_statement) (while_statement) (do_while_statement) (catch_block)] @branch
(when_entry (when_condition)) @branch
["&&" "||" "?:"] @branch

[(line_comment) (multiline_comment)] @comment
