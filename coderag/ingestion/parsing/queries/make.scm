; A rule has the names of its targets; what it needs it calls. Special targets such as `.PHONY` build nothing.
((rule (targets (_) @name)) @definition.rule
  (#not-match? @name "^\\.[A-Z_]+$|\\s"))
(variable_assignment name: (_) @name) @definition.variable
(define_directive name: (_) @name) @definition.macro

(include_directive filenames: (_) @import.source) @import

(prerequisites (word) @call)

(conditional) @branch
(elsif_directive) @branch

(comment) @comment
