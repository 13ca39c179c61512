; What the code graph needs; the captures are explained in facts.py.

(file_scoped_namespace_declaration name: (_) @package)

(invocation_expression) @call
(constructor_initializer) @call
(object_creation_expression type: (_) @new)
(variable_declaration type: (_) @new (variable_declarator (implicit_object_creation_expression)))
(property_declaration type: (_) @new value: (implicit_object_creation_expression))
(primary_constructor_base_type type: (_) @new)

; Imports.
(using_directive !name [(identifier) (qualified_name)] @import.module .) @import.all
(using_directive "global" @import.exported !name [(identifier) (qualified_name)] @import.module .) @import.all
(using_directive name: (_) @import.namespace [(identifier) (qualified_name) (generic_name)] @import.module .)

; Types.
(base_list [(identifier) (generic_name) (qualified_name)] @base)
(base_list (_ type: (_) @base))
(generic_name) @type
(_ type: [(identifier) (qualified_name)] @type)
(method_declaration returns: [(identifier) (qualified_name)] @type)
(type_argument_list [(identifier) (qualified_name)] @type)
(as_expression right: (identifier) @type)
(is_expression right: (_) @type)
(attribute name: (_) @type)
(method_declaration returns: (_) @returns)
(local_function_statement type: (_) @returns)
(delegate_declaration type: (_) @returns)
(method_declaration parameters: (_) @arity)
(local_function_statement parameters: (_) @arity)
(constructor_declaration parameters: (_) @arity)
(method_declaration parameters: (_ . (parameter (modifier) @_this type: (_) @parameter)) (#eq? @_this "this"))
((class_declaration
  name: (identifier) @_block
  (parameter_list . (parameter type: (_) @receiver))
  body: (_ (method_declaration) @extension.member)) (#eq? @_block "___"))
((class_declaration name: (identifier) @_block) @block (#eq? @_block "___"))
((modifier) @modifier (#any-of? @modifier "static" "abstract" "override" "private" "partial" "new"))
(_ name: (identifier) (type_parameter_list) @type_parameters)

; Names for values.
(type_parameter name: (identifier) @bind.type)
(type_parameter_constraints_clause . (identifier) @bind.type (type_parameter_constraint type: (_) @value))
(parameter type: (_) @typed name: (identifier) @bind)
(parameter_list type: (_) @typed name: (identifier) @bind)
((lambda_expression parameters: (_) @bind) (#match? @bind "^\\w+$"))
(lambda_expression parameters: (_ (parameter !type name: (identifier) @bind)))
(property_declaration type: (_) @typed name: (identifier) @bind)
(event_field_declaration (variable_declaration type: (_) @typed (variable_declarator name: (identifier) @bind)))
(field_declaration (variable_declaration type: (_) @typed (variable_declarator name: (identifier) @bind)))
(local_declaration_statement (variable_declaration type: (_) @typed (variable_declarator name: (identifier) @bind .)))
(local_declaration_statement (variable_declaration type: (_) @typed (variable_declarator name: (identifier) @bind (_) @value .)))
(using_statement (variable_declaration type: (_) @typed (variable_declarator name: (identifier) @bind (_) @value .)))
(for_statement initializer: (_ type: (_) @typed (_ name: (identifier) @bind)))
(foreach_statement type: (_) @typed left: (identifier) @bind right: (_) @elements)
(catch_declaration type: (_) @typed name: (identifier) @bind)
(declaration_pattern type: (_) @typed name: (identifier) @bind)
(recursive_pattern type: (_) @typed name: (identifier) @bind)
(declaration_expression type: (_) @typed name: (identifier) @bind)
(tuple_pattern name: (identifier) @bind)
(enum_declaration name: (identifier) @typed body: (_ (enum_member_declaration name: (identifier) @bind)))
(invocation_expression function: (_ expression: (_) @elements name: (_) @_each) arguments: (_ . (_ (_ parameters: (_) @bind)))
  (#match? @bind "^\\w+$") (#any-of? @_each "All" "Any" "Count" "First" "FirstOrDefault" "ForEach" "GroupBy" "Last" "LastOrDefault" "OrderBy" "OrderByDescending" "Select" "SelectMany" "Single" "SingleOrDefault" "Sum" "ToDictionary" "ToLookup" "Where"))

; Names mentioned as values.
((member_access_expression expression: (identifier) @_owner) @read (#match? @_owner "^[A-Z]"))
(argument (identifier) @read (#match? @read "^[A-Z]"))
(assignment_expression right: (identifier) @read (#match? @read "^[A-Z]"))
