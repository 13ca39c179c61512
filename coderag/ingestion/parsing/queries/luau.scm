; Types, and expressions that Lua does not have.
(type_definition name: [(identifier) @name (generic_type . (identifier) @name)]) @definition.type_alias
[(if_expression) (elseif_clause)] @branch
