; Declarations. A schema in front of a name qualifies it; of a function it would make a method.
(create_table (object_reference schema: (identifier)? @receiver name: (identifier) @name)
  (column_definitions)? @body) @definition.table
(create_view (object_reference schema: (identifier)? @receiver name: (identifier) @name) (create_query)? @body) @definition.table
(create_materialized_view (object_reference schema: (identifier)? @receiver name: (identifier) @name)
  (create_query)? @body) @definition.table
(create_type (object_reference schema: (identifier)? @receiver name: (identifier) @name) [
  (column_definitions) @body
  (enum_elements) @body
]?) @definition.type_alias
((create_type (object_reference name: (identifier) @name) (column_definitions)) @definition.struct)
((create_type (object_reference name: (identifier) @name) (enum_elements)) @definition.enum)
(create_function (object_reference name: (identifier) @name) (function_body)? @body) @definition.function
(create_trigger (keyword_trigger) . (object_reference name: (identifier) @name)) @definition.function
(create_index column: (identifier) @name) @definition.variable
(create_schema (identifier) @name) @definition.namespace
(create_sequence (object_reference name: (identifier) @name)) @definition.variable

; Members.
(column_definition name: (identifier) @name) @definition.field
(enum_elements (literal) @name @definition.field)

; A procedure, or a function or trigger with something that the grammar does not know: its head alone is sure.
(ERROR
  (keyword_create) @definition.function
  . [(keyword_procedure) (keyword_function) (keyword_trigger)]
  . (object_reference name: (identifier) @name) @definition.function)

(invocation (object_reference name: (identifier) @call))

[(when_clause) (keyword_if)] @branch

[(comment) (marginalia)] @comment
