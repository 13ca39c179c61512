"""One sentence of natural language for every chunk, without a language model."""

import re
from collections.abc import Iterator, Sequence

from coderag.schema.chunks import ChunkMetadata
from coderag.text.tokenizer import split_identifier

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])(?:\s|$)|\n\s*\n")
_MARKUP = re.compile(  # of C#, Java and JavaScript: what refers to a name, and what only says how it looks
    r"<(?:see|seealso|paramref|typeparamref)\s+\w+=\"(?:\w:)?(?P<xml>[^\"]*)\"\s*/?>|\{@\w+\s+(?P<tag>[^}]*)\}"
    r"|</?(?:summary|remarks|para|inheritdoc|c|code|p|b|i|em|tt|strong|ul|li|br|pre)\b[^>]*>"
)
_PARAMETER_NAME = re.compile(r"[^\W\d]\w*")
_FUNCTION_POINTER = re.compile(r"\(\s*[*&^]\s*(\w+)")
_ATTRIBUTES = re.compile(r"^(?:#?\[[^\]]*\]+\s*)+")  # of C#, C++ and PHP, in front of a parameter
_NAME_END = re.compile(r"(?<!:):(?!:)|=(?!>)|\\\\| :: ")  # what follows is a type or a default value
_LONGEST = 240
_MOST_PARAMETERS = 5
_MOST_CALLS = 5
_MOST_MEMBERS = 6
_CALLABLE = frozenset({"function", "method", "macro"})
_TYPE_FIRST = frozenset({"c", "cpp", "java", "c_sharp", "php", "dart", "groovy", "objective_c", "solidity", "d"})
_TYPES_ALONE = frozenset({"haskell"})  # a signature says of what types the parameters are, not what they are called
_NAME_FIRST = frozenset({"go", "sql"})  # and without a colon behind it
_SQL_MODES = frozenset({"IN", "OUT", "INOUT", "VARIADIC"})
_NOT_PARAMETERS = frozenset(
    ["self", "cls", "this", "const", "final", "mut", "void", "int", "char", "long", "short", "unsigned", "signed", "float",
     "double", "bool", "struct", "enum"]
)  # fmt: skip
_KIND_WORDS = {"type_alias": "type alias", "impl": "implementation", "module": "module-level code of"}


def summarize(metadata: ChunkMetadata) -> tuple[str, str]:
    """Return a chunk's summary and where it is from, ``docstring`` or ``derived``."""
    if sentence := first_sentence(metadata["docstring"]):
        return sentence, "docstring"
    return _derived(metadata), "derived"


def first_sentence(text: str) -> str:
    """Return the first sentence of a docstring in one line, at most 240 characters; empty if it says nothing."""
    if "<" in text or "{@" in text:
        text = _MARKUP.sub(lambda found: found["xml"] or found["tag"] or "", text)
    sentence = _one_line(_SENTENCE_END.split(text.strip(), maxsplit=1)[0])
    is_tag = sentence.startswith("@")  # ``@param`` and the like, without a description above
    return sentence if any(character.isalpha() for character in sentence) and not is_tag else ""


def _derived(metadata: ChunkMetadata) -> str:
    """Return one line: ``Method parse url of Client, taking text and base, calling split and Url.``."""
    pieces = [_subject(metadata)]
    if parameters := _parameters(metadata):
        pieces.append(f"taking {_and(parameters)}")
    if metadata["bases"]:
        pieces.append(f"extending {_and(metadata['bases'][:_MOST_MEMBERS])}")
    others = [symbol["name"] for symbol in metadata["symbols"] if symbol["name"] != metadata["name"]]
    if others:
        pieces.append(f"with {_and(list(dict.fromkeys(others))[:_MOST_MEMBERS])}")
    if metadata["calls"]:
        pieces.append(f"calling {_and(metadata['calls'][:_MOST_CALLS])}")
    elif metadata["imports"] and metadata["kind"] == "module":
        pieces.append(f"importing {_and(metadata['imports'][:_MOST_MEMBERS])}")
    return _one_line(", ".join(pieces) + ".")


def _subject(metadata: ChunkMetadata) -> str:
    """Return what the chunk is: ``Method parse url of Client``."""
    if metadata["kind"] == "block":
        return f"Lines of {metadata['path']}"
    kind = _KIND_WORDS.get(metadata["kind"], metadata["kind"])
    name = metadata["name"]
    # Outside ASCII the parts may be pairs of characters, which are no words; of an operator there are none.
    words = " ".join(split_identifier(name)) if name.isascii() and metadata["kind"] != "section" else name
    owner = metadata["path"] if metadata["kind"] == "section" else metadata["parent"]
    return f"{kind.capitalize()} {words or name}" + (f" of {owner}" if owner else "")


def _parameters(metadata: ChunkMetadata) -> list[str]:
    """Return the first parameters' names, read from the signature."""
    if metadata["kind"] not in _CALLABLE:
        return []
    signature = metadata["signature"]
    if metadata["language"] in _TYPES_ALONE and " :: " in signature:
        return []
    opening = _opening(signature, metadata["name"])
    parts = _arguments(signature, opening) if opening >= 0 else []
    language = metadata["language"] if metadata["kind"] != "macro" else ""  # a macro's have no types
    return [name for part in parts for name in _parameter_names(part.strip(), language)][:_MOST_PARAMETERS]


def _opening(signature: str, name: str) -> int:
    """Return where the parameters begin: behind the name, which type parameters may follow; -1 if there are none."""
    for end in _ends_of(name, signature):
        generic = signature[end : end + 1] in ("<", "[")
        after = end + sum(len(part) + 1 for part in _arguments(signature, end)) + 1 if generic else end
        if signature[after:].lstrip().startswith("("):
            return signature.index("(", after)
    return signature.find("(", max(signature.find(name), 0))


def _ends_of(name: str, signature: str) -> Iterator[int]:
    """Yield where each occurrence of a name as the start of a word ends, blanks behind it included."""
    start = signature.find(name) if name else -1
    while start >= 0:  # a regular expression for every name would cost more than all the rest of a summary
        before, end = signature[start - 1 : start], start + len(name)
        if not (before.isalnum() or before == "_"):
            yield end + len(signature[end:]) - len(signature[end:].lstrip())
        start = signature.find(name, end)


def _arguments(text: str, opening: int) -> list[str]:
    """Return what stands between a bracket and its counterpart, cut at the commas that are in no bracket inside."""
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


def _parameter_names(part: str, language: str) -> list[str]:
    """Return the name that one parameter declares; several if it takes an object apart."""
    if part[:1] in ("{", "("):
        return [name for inner in _arguments(part, 0) for name in _parameter_names(inner.strip(), language)]
    part = _ATTRIBUTES.sub("", part)
    if language == "elixir":
        part = part.rpartition(" = ")[2]  # a pattern, then the name of the whole
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
    return [name] if name and name not in _NOT_PARAMETERS else []


def _one_line(text: str) -> str:
    """Return a text without line breaks, at most 240 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1].rsplit(" ", 1)[0] + "…"


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
