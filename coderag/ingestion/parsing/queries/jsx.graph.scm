; What JSX adds: a component used is a function called, or a class instantiated.
(jsx_opening_element name: (identifier) @call (#match? @call "^[A-Z]"))
(jsx_self_closing_element name: (identifier) @call (#match? @call "^[A-Z]"))
(jsx_opening_element name: (member_expression) @call)
(jsx_self_closing_element name: (member_expression) @call)
(jsx_expression [(identifier) (member_expression)] @read)
