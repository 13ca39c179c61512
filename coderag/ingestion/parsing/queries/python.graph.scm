; What the code graph needs; the captures are explained in facts.py.

(call function: (_) @call)
(decorator (_) @decorator)
(class_definition superclasses: (argument_list [(identifier) (attribute) (subscript)] @base))

; Imports.
(import_statement name: (dotted_name) @import.module)
(import_statement name: (aliased_import name: (dotted_name) @import.module alias: (identifier) @import.alias))
(import_from_statement module_name: (_) @import.module name: (dotted_name) @import.name)
(import_from_statement module_name: (_) @import.module
  name: (aliased_import name: (dotted_name) @import.name alias: (identifier) @import.alias))
(import_from_statement module_name: (_) @import.module (wildcard_import) @import.all)

; Types.
(type (_) @type)
(function_definition return_type: (type) @returns)
(return_statement [(identifier) (attribute) (call) (subscript) (await) (boolean_operator) (conditional_expression)] @return)
(decorator [(identifier) (attribute)] @modifier)
(decorator (call function: [(identifier) (attribute)] @modifier))

; Names for values.
(parameters (identifier) @bind)
(default_parameter name: (identifier) @bind value: (_) @value)
(typed_parameter . (identifier) @bind type: (type) @typed)
(typed_parameter . (_ (identifier) @bind))
(typed_default_parameter name: (identifier) @bind type: (type) @typed)
(parameters (list_splat_pattern (identifier) @bind))
(parameters (dictionary_splat_pattern (identifier) @bind))
(lambda_parameters (identifier) @bind)
(assignment left: (identifier) @bind type: (type) @typed)
(assignment left: (identifier) @bind !type right: (_) @value)
(assignment left: (attribute object: (identifier) @_self attribute: (identifier) @bind.member) type: (type) @typed (#any-of? @_self "self" "cls"))
(assignment left: (attribute object: (identifier) @_self attribute: (identifier) @bind.member) !type right: (_) @value (#any-of? @_self "self" "cls"))
(named_expression name: (identifier) @bind value: (_) @value)
(for_statement left: (identifier) @bind right: (_) @elements)
(for_in_clause left: (identifier) @bind right: (_) @elements)
(for_statement left: (_ (identifier) @bind))
(for_in_clause left: (_ (identifier) @bind))
(assignment left: (_ (identifier) @bind) @_pattern (#not-match? @_pattern "[.\\[]"))
(with_item value: (as_pattern (_) @entered alias: (as_pattern_target (identifier) @bind)))
(except_clause value: (as_pattern (_) @made alias: (as_pattern_target (identifier) @bind)))

; Names mentioned as values.
(argument_list [(identifier) (attribute)] @read)
(keyword_argument value: [(identifier) (attribute)] @read)
(assignment right: [(identifier) (attribute)] @read)
(return_statement [(identifier) (attribute)] @read)
(pair value: [(identifier) (attribute)] @read)
(list [(identifier) (attribute)] @read)
(tuple [(identifier) (attribute)] @read)
(default_parameter value: [(identifier) (attribute)] @read)
(except_clause [(identifier) (attribute) (tuple)] @read)
(except_clause value: (as_pattern [(identifier) (attribute)] @read))
(comparison_operator [(identifier) (attribute)] @read (#match? @read "^_*[A-Z]"))
(binary_operator [(identifier) (attribute)] @read (#match? @read "^_*[A-Z]"))
(subscript value: (identifier) @read (#match? @read "^_*[A-Z]"))
