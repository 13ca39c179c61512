; What JSX adds: a component used is a function called.
(jsx_opening_element name: (identifier) @call (#match? @call "^[A-Z]"))
(jsx_self_closing_element name: (identifier) @call (#match? @call "^[A-Z]"))
(jsx_opening_element name: (_ property: (property_identifier) @call))
(jsx_self_closing_element name: (_ property: (property_identifier) @call))
