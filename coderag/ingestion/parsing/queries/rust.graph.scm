; What the code graph needs; the captures are explained in facts.py.

(call_expression function: (_) @call)
(macro_invocation) @call
(token_tree (identifier) @call.tokens . (token_tree . "("))
(token_tree (identifier) @call.tokens . "::" . "<" . (_) . ">" . (token_tree . "("))
(token_tree ["(" "[" "{" "," "&" "=" "=>"] . (identifier) @read.tokens . [")" "]" "}" "," ";"])
((token_tree (identifier) @read.tokens) (#match? @read.tokens "^[A-Z]"))
(struct_expression name: (_) @new)

; Implemented traits, and those that a trait asks for.
(impl_item trait: (_) @base.implements)
(impl_item type: (_) @returns)
(impl_item type: (_) @type)
(trait_item bounds: (trait_bounds [(type_identifier) (scoped_type_identifier) (generic_type)] @base.inherits))

; Imports.
(use_declaration argument: (_) @import.tree)
(mod_item name: (identifier) @import.submodule !body)
(extern_crate_declaration name: (identifier) @import.module @import.namespace !alias)
(extern_crate_declaration name: (identifier) @import.module alias: (identifier) @import.namespace)

; Types.
(parameter type: (_) @type)
(field_declaration type: (_) @type)
(ordered_field_declaration_list type: (_) @type)
(_ return_type: (_) @type)
(let_declaration type: (_) @type)
(type_item type: (_) @type)
(const_item type: (_) @type)
(static_item type: (_) @type)
(trait_bounds [(type_identifier) (scoped_type_identifier) (generic_type)] @type)
(type_cast_expression type: (_) @type)
(generic_function type_arguments: (_) @type)
(function_item return_type: (_) @returns)
(function_signature_item return_type: (_) @returns)
(type_item type: (_) @returns)

; Tests: what is compiled for them only, and what runs as one, also of the frameworks: `#[tokio::test]`.
((attribute_item (attribute (identifier) @_cfg arguments: (_) @_when)) @test
  (#eq? @_cfg "cfg") (#match? @_when "^\\(\\s*(all\\s*\\((([^()]|\\([^()]*\\))*,)?\\s*)?test\\s*[,)]"))
((inner_attribute_item (attribute (identifier) @_cfg arguments: (_) @_when)) @test.inside
  (#eq? @_cfg "cfg") (#match? @_when "^\\(\\s*(all\\s*\\((([^()]|\\([^()]*\\))*,)?\\s*)?test\\s*[,)]"))
((attribute_item (attribute [(identifier) @_name (_ name: (_) @_name)])) @test
  (#any-of? @_name "test" "bench" "rstest" "test_case" "wasm_bindgen_test" "quickcheck" "proptest"))

; Names for values.
(parameter pattern: (identifier) @bind type: (_) @typed)
(parameter pattern: (mut_pattern (identifier) @bind) type: (_) @typed)
(parameter pattern: (tuple_pattern (identifier) @bind))
(type_parameter name: (type_identifier) @bind.type)
(type_parameter name: (type_identifier) @bind.type bounds: (trait_bounds . (_) @value))
(where_predicate left: (type_identifier) @bind.type bounds: (trait_bounds . (_) @value))
(closure_parameters (identifier) @bind)
((call_expression
  function: (field_expression value: (_) @elements field: (field_identifier) @_method)
  arguments: (arguments . (closure_expression parameters: (closure_parameters . (identifier) @bind))))
  (#any-of? @_method "map" "and_then" "for_each" "filter" "find" "any" "all" "filter_map" "flat_map" "is_some_and" "is_ok_and" "inspect"
    "take_while" "skip_while" "position" "find_map" "partition" "max_by_key" "min_by_key" "sort_by_key" "retain" "map_while"))
(closure_parameters (_ (identifier) @bind) @_pattern (#not-match? @_pattern ":"))
(field_declaration name: (field_identifier) @bind.member type: (_) @typed)
(struct_item body: (ordered_field_declaration_list type: (_) @bind.item))
(enum_item name: (_) @typed body: (enum_variant_list (enum_variant name: (_) @bind.member)))
(const_item name: (identifier) @bind type: (_) @typed)
(static_item name: (identifier) @bind type: (_) @typed)
(let_declaration pattern: (identifier) @bind type: (_) @typed)
(let_declaration pattern: (identifier) @bind !type value: (_) @value)
(let_declaration pattern: (identifier) @bind !type !value)
(let_declaration pattern: (tuple_pattern . (identifier) @bind) value: (_) @value.0)
(let_declaration pattern: (tuple_pattern . (_) . (identifier) @bind) value: (_) @value.1)
(let_declaration pattern: (tuple_pattern . (mut_pattern (identifier) @bind)) value: (_) @value.0)
(let_declaration pattern: (tuple_pattern . (_) . (mut_pattern (identifier) @bind)) value: (_) @value.1)
((let_declaration pattern: (tuple_struct_pattern type: (_) @_some . (identifier) @bind) value: (_) @elements)
  (#any-of? @_some "Some" "Ok"))
((let_condition pattern: (tuple_struct_pattern type: (_) @_some . (identifier) @bind) value: (_) @elements)
  (#any-of? @_some "Some" "Ok"))
((match_expression value: (_) @elements body: (match_block (match_arm
  pattern: (match_pattern . (tuple_struct_pattern type: (_) @_some . (identifier) @bind)))))
  (#any-of? @_some "Some" "Ok"))
((tuple_struct_pattern type: (_) @_some (identifier) @bind) (#not-any-of? @_some "Some" "Ok"))
(struct_pattern type: (_) @typed.whole (field_pattern name: (shorthand_field_identifier) @bind))
(struct_pattern type: (_) @typed.whole (field_pattern name: (field_identifier) @key pattern: (identifier) @bind))
(match_arm pattern: (match_pattern . (identifier) @bind .))
(for_expression pattern: (identifier) @bind value: (_) @elements)
(for_expression pattern: (tuple_pattern (identifier) @bind))

; Names mentioned as values.
(arguments [(identifier) (scoped_identifier) (field_expression)] @read)
(arguments (reference_expression value: [(identifier) (scoped_identifier) (field_expression)] @read))
(field_initializer value: [(identifier) (scoped_identifier) (field_expression)] @read)
(let_declaration value: [(identifier) (scoped_identifier) (field_expression)] @read)
(assignment_expression right: [(identifier) (scoped_identifier) (field_expression)] @read)
(match_pattern [(scoped_identifier) (identifier)] @read)
(tuple_struct_pattern type: (scoped_identifier) @read)
(binary_expression (scoped_identifier) @read)
(array_expression [(identifier) (scoped_identifier)] @read)
(block (scoped_identifier) @read .)
(match_arm value: (scoped_identifier) @read)

; Where local names are known.
[(block) (closure_expression) (match_arm) (if_expression) (while_expression) (for_expression)] @block
