; Entries of the two upper levels whose value is structure. What is deeper or scalar is data; so is an entry on one line.
; An array of records has none: it is a table.
(document (object (pair key: (string (string_content) @name) value: [(object) (array)] @body) @definition.key))
(document (object (pair value: (object
  (pair key: (string (string_content) @name) value: (object) @body) @definition.key))))

; What OpenAPI and AsyncAPI share between operations: `components.schemas.User`.
(document (object (pair key: (string (string_content) @_outer) value: (object (pair value: (object
  (pair key: (string (string_content) @name) value: (object) @body) @definition.key)))) (#eq? @_outer "components")))

(comment) @comment
