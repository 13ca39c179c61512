"""Closed vocabularies that are shared across packages: kinds, roles, outcomes, relations, verdicts."""

from typing import Final, Literal

Kind = Literal[
    "function", "method", "class", "interface", "struct", "trait", "enum", "union", "type_alias", "impl", "namespace",
    "constant", "variable", "field", "macro", "table", "resource", "rule", "key", "module", "section", "block",
]  # fmt: skip
"""Kind of a chunk or symbol.

``table`` is a table or view of a database, ``resource`` a block of infrastructure (Terraform), ``rule`` of a style
sheet or a build (CSS, make), ``key`` an entry of structured data (YAML, TOML, JSON), ``module`` module-level code,
``section`` a part of a document, ``block`` plain lines."""


ChunkStrategy = Literal["declaration", "cast", "window"]
"""Chunking strategies: at declarations, at nodes of the syntax tree, or in overlapping windows."""


VALUE_KINDS: Final = frozenset({"variable", "constant", "field", "key"})
"""Kinds of declarations that hold a value; the code graph has no reads or writes of them."""


FILE_NAMED_KINDS: Final = frozenset({"module", "section", "block"})
"""Kinds of chunks that are not declarations; without a name of their own they have that of the file, see
`get_module_name`.
"""


Role = Literal["source", "test", "docs", "config", "example", "generated", "vendored"]
"""Role of a file."""


Outcome = Literal["indexed", "skipped", "failed"]


Intent = Literal[
    "find_definition", "find_usage", "hierarchy", "understand_module", "find_similar", "find_tests", "documentation",
    "backlog", "history", "general",
]  # fmt: skip


HumanLanguage = Literal["en", "de", "fr", "es", "pt", "ru", "zh", "ja"]
"""Human language of a question, by its ISO 639-1 code."""


QuestionKind = Literal[
    "find_definition", "find_usage", "hierarchy", "find_tests", "impact", "path", "understand", "flow", "failure", "setting",
    "find_similar", "documentation", "backlog", "history", "general",
]  # fmt: skip
"""What a question asks, finer than its `Intent`; ``impact``: what a change affects, ``path``: how one place reaches another."""


AskedRelation = Literal[
    "", "calls", "uses", "imports", "reads", "writes", "instantiates", "inherits", "implements", "overrides", "tests",
    "documents", "any",
]  # fmt: skip
"""Relation that a question asks for; empty for kinds of questions without one."""


AskedDirection = Literal["", "in", "out"]
"""Direction of the relation, seen from the subject: ``in`` asks what calls it, ``out`` what it calls."""


AnswerForm = Literal[
    "place", "list", "explanation", "comparison", "overview", "yes_no", "count", "value", "unused", "example",
]  # fmt: skip
"""Form of the answer that a question wishes."""


AskedAspect = Literal["", "signature", "parameters", "returns", "raises", "members", "code"]
"""Part of a declaration that a question asks for; empty for the whole of it."""


HistoryAspect = Literal["changes", "why", "when", "author", "people", "together", "ticket", "tickets"]
"""What a question asks of the history of code.

``changes``: the commits themselves, ``author``: who made a change, ``people``: who knows the code, ``together``: what else
changes, ``ticket``: the code of a ticket that it names, ``tickets``: the tickets of code."""


HistoryEvent = Literal["", "introduced", "removed", "last"]
"""Which change a question is about; empty for any."""


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
    "value",
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
"""Relations of edges, read as "the source … the target". Definition and containment follow from the nodes."""


MIN_RESOLVED_CONFIDENCE: Final = 0.5
"""Minimum confidence of a resolved edge; below it, the target is one of several candidates."""


MODULE_RESOLVER: Final = "module"
"""Resolver of an import that declares another file as a submodule: ``mod name;`` in Rust."""


Evidence = Literal["found", "weak", "not_found", "unknown"]
"""Verdict on results; ``unknown``: they do not answer, but relevant files may be missing from the index."""


Detail = Literal["full", "elided", "signature", "line"]


ContextFormat = Literal["markdown", "xml", "json"]
"""Formats of the text of a context."""


AnswerShape = Literal["explanation", "definition", "usages", "flow", "comparison", "not_found"]
"""Shapes of answers: ``usages`` lists locations, ``flow`` has a diagram, ``not_found`` names what was searched."""


AnswerTopic = Literal[
    "overview", "unused", "absent", "report", "message", "comparison", "flow", "definition", "relation", "setting",
    "failure", "similar", "detail", "history", "place",
]  # fmt: skip
"""What an answer is about: it chooses the plan of its sections."""

AnswerSectionKind = Literal[
    "place", "code", "next", "message", "writers", "definition", "members", "users", "relation", "related", "further",
    "tests", "mentions",
    "flow", "steps", "setting", "readers", "documentation", "failure", "handling", "comparison", "difference", "common",
    "overview", "layout", "central", "documents", "unused", "candidates", "absent", "nearest", "unindexed", "detail",
    "lines", "items", "history", "commits", "origin", "remark",
]  # fmt: skip
"""Kinds of sections; the first one states what is asked for, below a ``remark`` on why a configured model has not answered."""

AnswerSectionStyle = Literal["text", "list", "steps"]
"""``text``: paragraphs, as in the lead; ``list``: bullet points; ``steps``: numbered."""

ProofRelation = Literal[
    "", "declares", "calls", "imports", "inherits", "implements", "overrides", "references", "tests", "mentions",
    "quotes", "sets", "reads", "documents", "raises", "handles", "reports", "differs",
]  # fmt: skip
"""How cited lines prove a statement; empty if they are only quoted."""

ClaimStatus = Literal["verified", "unsupported", "uncited"]
"""``unsupported``: names or quotes are not in the cited lines; ``uncited``: it cites nothing."""

CycleLevel = Literal["files", "symbols"]
"""Level of cycles in a code graph: imports of files, or calls of functions."""
