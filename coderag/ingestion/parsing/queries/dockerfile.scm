; A stage reaches to the next one. Without a name of its own it has that of its image.
(from_instruction (image_spec) as: (image_alias) @name) @definition.section
(from_instruction (image_spec) @name . ) @definition.section
(arg_instruction name: (_) @name) @definition.variable
(env_instruction (env_pair name: (_) @name)) @definition.variable

(from_instruction (image_spec) @import.source) @import

(comment) @comment
