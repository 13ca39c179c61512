; Declarations. A description comes first inside what it describes; the keyword or name behind it is where that begins.
(object_type_definition "type" @start (name) @name (fields_definition)? @body) @definition.struct
(interface_type_definition "interface" @start (name) @name (fields_definition)? @body) @definition.interface
(input_object_type_definition "input" @start (name) @name (input_fields_definition)? @body) @definition.struct
(enum_type_definition "enum" @start (name) @name (enum_values_definition)? @body) @definition.enum
(union_type_definition "union" @start (name) @name) @definition.union
(scalar_type_definition "scalar" @start (name) @name) @definition.type_alias
(directive_definition "directive" @start (name) @name) @definition.macro
(schema_definition "schema" @start @name "{" @body) @definition.struct
(field_definition (name) @start @name) @definition.field
(input_fields_definition (input_value_definition (name) @start @name) @definition.field)
(enum_value_definition (enum_value) @start @name) @definition.field

; What is added to a type that is declared elsewhere, often in another file.
(object_type_extension (name) @name (fields_definition)? @body) @definition.impl
(interface_type_extension (name) @name (fields_definition)? @body) @definition.impl
(input_object_type_extension (name) @name (input_fields_definition)? @body) @definition.impl
(enum_type_extension (name) @name (enum_values_definition)? @body) @definition.impl
(union_type_extension (name) @name) @definition.impl
(scalar_type_extension (name) @name) @definition.impl
(schema_extension "schema" @name "{" @body) @definition.impl

; What a client asks for. A fragment is called by what spreads it.
(operation_definition (name) @name (selection_set) @body) @definition.function
(fragment_definition (fragment_name) @name (selection_set) @body) @definition.function
(fragment_spread (fragment_name) @call)

; Implemented interfaces.
(implements_interfaces (named_type (name) @base))

; Branches: what is asked for on a condition, or of some types only.
((directive (name) @_directive) @branch (#any-of? @_directive "include" "skip"))
(inline_fragment (type_condition)) @branch

(description) @docstring
(comment) @comment
