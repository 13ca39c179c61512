; Declarations. A node says where one ends and begins, the start of its text which kind it is: that in tree patterns takes
; ten times as long to compile. A `pub` stands beside what it makes public.
("pub" @start . (Decl) @definition.constant)
(_ (FnProto (IDENTIFIER) @name) . [(Block) ";"] @body) @definition.macro
((FnProto (IDENTIFIER) @name) @definition.function (#not-match? @definition.function "\\btype$"))
; A function that returns a type is how a generic one is written.
((FnProto (IDENTIFIER) @name) @definition.struct (#match? @definition.struct "\\btype$"))
(TestDecl [(STRINGLITERALSINGLE) (IDENTIFIER)] @name (Block) @body) @definition.function

; What holds a file, or the type around it, is an import or an alias.
((VarDecl (IDENTIFIER) @name) @definition.constant
  (#not-match? @definition.constant "^(var\\b|const\\s+\\S+\\s*=\\s*@(import|cImport|This)\\b)"))
((VarDecl (IDENTIFIER) @name) @definition.variable (#match? @definition.variable "^var\\b"))
((VarDecl (IDENTIFIER) @name) @definition.struct
  (#match? @definition.struct "^(const|var)\\s+[^={]*=\\s*(extern\\s+|packed\\s+)?(struct|opaque)\\b"))
((VarDecl (IDENTIFIER) @name) @definition.enum (#match? @definition.enum "^const\\s+[^={]*=\\s*(enum\\b|error\\s*\\{)"))
((VarDecl (IDENTIFIER) @name) @definition.union
  (#match? @definition.union "^const\\s+[^={]*=\\s*(extern\\s+|packed\\s+)?union\\b"))
(VarDecl (IDENTIFIER) @name (_ (_ [(ContainerDecl "{" @body) (ErrorSetDecl "{" @body)]))) @definition.variable

; Members. What has no type is a value of an enum, or of a union without data.
(ContainerField field_member: (IDENTIFIER) @start @name) @definition.field
(ContainerField . (doc_comment)? . (_ (_ . (IDENTIFIER) @start @name .))) @definition.field
(ErrorSetDecl (IDENTIFIER) @name @definition.field)

; Imports, of Zig and of C.
((BUILTINIDENTIFIER) @_builtin @import . (_ (_ (_ (STRINGLITERALSINGLE) @import.source)))
  (#any-of? @_builtin "@import" "@cInclude" "@embedFile"))

; Calls, and initialised structs.
(FieldOrFnCall function_call: (IDENTIFIER) @call)
(SuffixExpr . (IDENTIFIER) @call . (FnCallArguments))
((ErrorUnionExpr (_ [(IDENTIFIER) @call (_ field_access: (IDENTIFIER) @call)] .)) . (InitList))

; Branches.
[(IfPrefix) (WhilePrefix) (ForPrefix) (SwitchProng) "and" "or" "orelse" "catch"] @branch

(source_file . (container_doc_comment) @docstring)
[(doc_comment) (container_doc_comment) (line_comment)] @comment
