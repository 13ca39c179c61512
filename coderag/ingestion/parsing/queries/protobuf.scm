; Declarations. The grammar names no fields, so a name is found by its place. Calls have no bodies in Protobuf: what ends
; one, or begins its options, stands for it, so that each is a chunk with its comment.
(package (full_ident) @name) @definition.namespace
(message (message_name (identifier) @name) (message_body) @body) @definition.struct
(enum (enum_name (identifier) @name) (enum_body) @body) @definition.enum
(service (service_name (identifier) @name) "{" @body) @definition.interface
(rpc (rpc_name (identifier) @name) [";" "{"] @body) @definition.method
(enum_field (identifier) @name) @definition.field
(field (type) . (identifier) @name) @definition.field
(map_field (type) . (identifier) @name) @definition.field
(oneof . "oneof" . (identifier) @name) @definition.field
(oneof_field (type) . (identifier) @name) @definition.field

; An extension is named for what it extends.
(extend (full_ident (identifier) @name .) (message_body) @body) @definition.impl

(import path: (string) @import.source) @import

(comment) @comment
