; A table has its dotted name, and reaches to the next one; an empty one says nothing. A pair outside of every table is one
; if its value is structure.
(table [(bare_key) (quoted_key) (dotted_key)] @name . (comment)* . (pair) @body) @definition.key
(table_array_element [(bare_key) (quoted_key) (dotted_key)] @name . (comment)* . (pair) @body) @definition.key
(document (pair . [(bare_key) (quoted_key) (dotted_key)] @name [(array) (inline_table)] @body) @definition.key)

(comment) @comment
