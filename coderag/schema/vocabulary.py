"""Closed vocabularies that are shared across packages: kinds, roles, outcomes, relations, verdicts."""

from typing import Final, Literal

Kind = Literal[
    "function", "method", "class", "interface", "struct", "trait", "enum", "union", "type_alias", "impl", "namespace",
    "constant", "variable", "field", "macro", "table", "resource", "rule", "key", "module", "section", "block",
]  # fmt: skip
"""What a chunk or symbol is. ``table`` is a table or view of a database, ``resource`` a block of infrastructure (Terraform),
``rule`` of a style sheet or a build (CSS, make), ``key`` an entry of structured data (YAML, TOML, JSON), ``module``
module-level code, ``section`` a part of a document, ``block`` plain lines."""


ChunkStrategy = Literal["declaration", "cast", "window"]
"""How files are cut into chunks: at declarations, at the joints of the syntax tree, or into overlapping windows."""


VALUE_KINDS: Final = frozenset({"variable", "constant", "field", "key"})
"""Kinds of declarations that hold a value: who reads and writes them, the code graph does not know."""


FILE_NAMED_KINDS: Final = frozenset({"module", "section", "block"})
"""Kinds of chunks that are no declarations; one without a name of its own has that of its file, see `get_module_name`."""


Role = Literal["source", "test", "docs", "config", "example", "generated", "vendored"]
"""What a file is for."""


Outcome = Literal["indexed", "skipped", "failed"]


Intent = Literal[
    "find_definition", "find_usage", "hierarchy", "understand_module", "find_similar", "find_tests", "documentation",
    "backlog", "general",
]  # fmt: skip


Relation = Literal[
    "contains",
    "contained_by",
    "sibling",
    "imports",
    "imported_by",
    "caller",
    "callee",
    "test_for",
    "interface_of",
    "base",
    "derived",
]
"""How a related chunk is related to a primary one, read as "this chunk is the … of it"."""


GraphRelation = Literal[
    "caller", "callee", "imports", "imported_by", "base", "derived", "interface_of", "implementation", "override",
    "overridden", "user", "used", "test_for", "tested", "documentation", "documented",
]  # fmt: skip
"""How a declaration is related to another in the code graph, read as "this one is the … of it"; a ``user`` names it as a
type, a decorator or a value."""


EdgeRelation = Literal[
    "imports", "calls", "instantiates", "references", "inherits", "implements", "overrides", "tests", "documents",
]  # fmt: skip
"""What an edge of the code graph says, read as "the source … the target". That a file defines a declaration and one contains
another follows from the nodes."""


MIN_RESOLVED_CONFIDENCE: Final = 0.5
"""Confidence from which on an edge is one; below, its target is one of several candidates."""


MODULE_RESOLVER: Final = "module"
"""Resolver of an import by which a file says that another one is a module of its own: ``mod name;`` in Rust."""


Evidence = Literal["found", "weak", "not_found", "unknown"]
"""How well results answer a question; ``unknown``: not well, and files that it may be about are not in the index."""


Detail = Literal["full", "elided", "signature", "line"]


ContextFormat = Literal["markdown", "xml", "json"]
"""How the text of a context is written."""


AnswerShape = Literal["explanation", "definition", "usages", "flow", "comparison", "not_found"]
"""How an answer is built: ``usages`` lists places, ``flow`` has a diagram, ``not_found`` says what was looked for."""


ClaimStatus = Literal["verified", "unsupported", "uncited"]
"""``unsupported``: what it names or quotes is not in the lines that it cites; ``uncited``: it cites nothing."""
