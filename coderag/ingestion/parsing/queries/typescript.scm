; What TypeScript has beside what it shares with JavaScript.
(class_declaration name: (type_identifier) @name) @definition.class
(abstract_class_declaration name: (type_identifier) @name) @definition.class
(interface_declaration name: (type_identifier) @name) @definition.interface
(type_alias_declaration name: (type_identifier) @name) @definition.type_alias
(enum_declaration name: (identifier) @name) @definition.enum
(internal_module name: (_) @name) @definition.namespace
(module name: (_) @name) @definition.namespace
(function_signature name: (identifier) @name) @definition.function
(interface_body (_ name: [(property_identifier) (string)] @name parameters: (_)) @definition.method)
(interface_body (_ !parameters name: [(property_identifier) (string)] @name) @definition.field)
(type_alias_declaration value: (_ (_ name: [(property_identifier) (string)] @name parameters: (_)) @definition.method))
(type_alias_declaration value: (_ (_ !parameters name: [(property_identifier) (string)] @name) @definition.field))
(abstract_method_signature name: (_) @name) @definition.method
(enum_body name: [(property_identifier) (string)] @name @definition.field)
(enum_assignment name: [(property_identifier) (string)] @name) @definition.field
(public_field_definition name: (_) @name [(_ parameters: (_) body: (_) @body) (_ parameter: (_) body: (_) @body)]) @definition.method
(public_field_definition name: (_) @name) @definition.field
(export_statement "=" (class name: (_) @name body: (_) @body)) @definition.class
(export_statement "=" (_ name: (_) @name parameters: (_) body: (_) @body)) @definition.function
(export_statement "export" @name "=" (class !name body: (_) @body)) @definition.class
(export_statement "export" @name "=" (_ !name parameters: (_) body: (_) @body)) @definition.function
(export_statement "export" @name "=" (object)) @definition.variable
(ambient_declaration) @wrapper

(extends_clause value: [
  (identifier) @base
  (_ property: (property_identifier) @base)
  (_ function: (identifier) @base)
])
(implements_clause [
  (type_identifier) @base
  (_ name: (type_identifier) @base)
  (_ name: (_ name: (type_identifier) @base))
])
(extends_type_clause type: [
  (type_identifier) @base
  (_ name: (type_identifier) @base)
  (_ name: (_ name: (type_identifier) @base))
])

(import_require_clause source: (string) @import.source) @import
