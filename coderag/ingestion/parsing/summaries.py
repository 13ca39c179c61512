"""One-sentence summaries of chunks without a language model."""

import re
from collections.abc import Iterator, Sequence

from coderag.schema.chunks import ChunkMetadata
from coderag.text.tokenizer import split_identifier

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])(?:\s|$)|\n\s*\n")
_MARKUP = re.compile(  # of C#, Java and JavaScript: references to names, and formatting
    r"<(?:see|seealso|paramref|typeparamref)\s+\w+=\"(?:\w:)?(?P<xml>[^\"]*)\"\s*/?>|\{@\w+\s+(?P<tag>[^}]*)\}"
    r"|</?(?:summary|remarks|para|inheritdoc|c|code|p|b|i|em|tt|strong|ul|li|br|pre)\b[^>]*>"
)
_PARAMETER_NAME = re.compile(r"[^\W\d]\w*")
_FUNCTION_POINTER = re.compile(r"\(\s*[*&^]\s*(\w+)")
_ATTRIBUTES = re.compile(r"^(?:#?\[[^\]]*\]+\s*)+")  # of C#, C++ and PHP, before a parameter
_NAME_END = re.compile(r"(?<!:):(?!:)|=(?!>)|\\\\| :: ")  # a type or a default value follows
_MAX_SUMMARY_CHARS = 240
_MAX_PARAMETERS = 5
_MAX_CALLS = 5
_MAX_MEMBERS = 6
_CALLABLE = frozenset({"function", "method", "macro"})
_TYPE_FIRST = frozenset({"c", "cpp", "java", "c_sharp", "php", "dart", "groovy", "objective_c", "solidity", "d"})
_TYPES_ALONE = frozenset({"haskell"})  # signatures have types of parameters, but no names
_NAME_FIRST = frozenset({"go", "sql"})  # and without a colon behind it
_SQL_MODES = frozenset({"IN", "OUT", "INOUT", "VARIADIC"})
_NON_PARAMETERS = frozenset(
    ["self", "cls", "this", "const", "final", "mut", "void", "int", "char", "long", "short", "unsigned", "signed", "float",
     "double", "bool", "struct", "enum"]
)  # fmt: skip
_KIND_WORDS = {"type_alias": "type alias", "impl": "implementation", "module": "module-level code of"}


def summarize(metadata: ChunkMetadata) -> tuple[str, str]:
    """Return a chunk's summary and its source, ``docstring`` or ``derived``."""
    if sentence := extract_first_sentence(metadata["docstring"]):
        return sentence, "docstring"
    return _derive_summary(metadata), "derived"


def extract_first_sentence(text: str) -> str:
    """Return the first sentence of a docstring on one line, at most 240 characters; empty if there is no text."""
    if "<" in text or "{@" in text:
        text = _MARKUP.sub(lambda match: match["xml"] or match["tag"] or "", text)
    sentence = _to_one_line(_SENTENCE_END.split(text.strip(), maxsplit=1)[0])
    is_tag = sentence.startswith("@")  # ``@param`` and the like, without a description above
    return sentence if any(character.isalpha() for character in sentence) and not is_tag else ""


def _derive_summary(metadata: ChunkMetadata) -> str:
    """Derive a one-line summary: ``Method parse url of Client, taking text and base, calling split and Url.``."""
    clauses = [_format_subject(metadata)]
    if parameters := _read_parameters(metadata):
        clauses.append(f"taking {_join_words(parameters)}")
    if metadata["bases"]:
        clauses.append(f"extending {_join_words(metadata['bases'][:_MAX_MEMBERS])}")
    members = [symbol["name"] for symbol in metadata["symbols"] if symbol["name"] != metadata["name"]]
    if members:
        clauses.append(f"with {_join_words(list(dict.fromkeys(members))[:_MAX_MEMBERS])}")
    if metadata["calls"]:
        clauses.append(f"calling {_join_words(metadata['calls'][:_MAX_CALLS])}")
    elif metadata["imports"] and metadata["kind"] == "module":
        clauses.append(f"importing {_join_words(metadata['imports'][:_MAX_MEMBERS])}")
    return _to_one_line(", ".join(clauses) + ".")


def _format_subject(metadata: ChunkMetadata) -> str:
    """Format the kind and name of a chunk: ``Method parse url of Client``."""
    if metadata["kind"] == "block":
        return f"Lines of {metadata['path']}"
    kind = _KIND_WORDS.get(metadata["kind"], metadata["kind"])
    name = metadata["name"]
    # Outside ASCII, parts may be pairs of characters rather than words; an operator has none.
    words = " ".join(split_identifier(name)) if name.isascii() and metadata["kind"] != "section" else name
    owner = metadata["path"] if metadata["kind"] == "section" else metadata["parent"]
    return f"{kind.capitalize()} {words or name}" + (f" of {owner}" if owner else "")


def _read_parameters(metadata: ChunkMetadata) -> list[str]:
    """Return the names of the first parameters from the signature."""
    if metadata["kind"] not in _CALLABLE:
        return []
    signature = metadata["signature"]
    if metadata["language"] in _TYPES_ALONE and " :: " in signature:
        return []
    opening = _find_opening(signature, metadata["name"])
    parts = _split_arguments(signature, opening) if opening >= 0 else []
    language = metadata["language"] if metadata["kind"] != "macro" else ""  # parameters of macros have no types
    return [name for part in parts for name in _read_parameter_names(part.strip(), language)][:_MAX_PARAMETERS]


def _find_opening(signature: str, name: str) -> int:
    """Return the offset of the parameter list after the name and type parameters; -1 if there is none."""
    for end in _find_name_ends(name, signature):
        generic = signature[end : end + 1] in ("<", "[")
        after = end + sum(len(part) + 1 for part in _split_arguments(signature, end)) + 1 if generic else end
        if signature[after:].lstrip().startswith("("):
            return signature.index("(", after)
    return signature.find("(", max(signature.find(name), 0))


def _find_name_ends(name: str, signature: str) -> Iterator[int]:
    """Yield the end of each occurrence of a name at the start of a word, including trailing blanks."""
    start = signature.find(name) if name else -1
    while start >= 0:  # a regular expression for each name would cost more than the rest of the summary
        preceding, end = signature[start - 1 : start], start + len(name)
        if not (preceding.isalnum() or preceding == "_"):
            yield end + len(signature[end:]) - len(signature[end:].lstrip())
        start = signature.find(name, end)


def _split_arguments(text: str, opening: int) -> list[str]:
    """Split the text between a bracket and its counterpart at commas outside nested brackets."""
    parts: list[str] = []
    depth, start = 0, opening + 1
    for position in range(opening, len(text)):
        character = text[position]
        if character in "([{<":
            depth += 1
        elif character in ")]}" or (character == ">" and text[position - 1] not in "-="):
            depth -= 1
            if not depth:
                return [*parts, text[start:position]]
        elif character == "," and depth == 1:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


def _read_parameter_names(part: str, language: str) -> list[str]:
    """Return the name that a parameter declares; several if it is a destructuring pattern."""
    if part[:1] in ("{", "("):
        return [name for inner in _split_arguments(part, 0) for name in _read_parameter_names(inner.strip(), language)]
    part = _ATTRIBUTES.sub("", part)
    if language == "elixir":
        part = part.rpartition(" = ")[2]  # a pattern, then the name of the whole value
    declared = _NAME_END.split(part, maxsplit=1)[0]
    if pointer := _FUNCTION_POINTER.search(declared):
        return [pointer[1]]
    words = _PARAMETER_NAME.findall(declared)
    if len(words) == 1 and language in _TYPE_FIRST and "$" not in declared:
        return []  # a type without a name
    # ``name Type`` in Go and SQL; elsewhere the name is last before its type: ``Type name``, ``private name: Type``
    if language == "sql" and words and words[0].upper() in _SQL_MODES:
        del words[0]
    name = (words[0] if language in _NAME_FIRST else words[-1]) if words else ""
    return [name] if name and name not in _NON_PARAMETERS else []


def _to_one_line(text: str) -> str:
    """Collapse a text into one line of at most 240 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SUMMARY_CHARS else line[: _MAX_SUMMARY_CHARS - 1].rsplit(" ", 1)[0] + "…"


def _join_words(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
