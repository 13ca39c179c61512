"""Files that exist to hold secrets, as names without values.

Every reader of repository files sees these files with their values removed (`coderag.text.readable_text`), so that a value is
neither indexed nor shown, and reaches no model. Names, comments, references (``${HOME}``) and placeholders (``<your key>``)
stay, and so do line numbers. A line that is recognised as none of these is removed.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

REMOVED_VALUE: Final = "[value removed]"

_NAMES: Final = re.compile(
    r"""\.env(?:\.(?!(?:[cm]?[jt]s|py|rb|go|php|java|kt|rs|md)$)[\w-]+)* | .+\.env | \.envrc | \.flaskenv | \.dev\.vars
    | \.npmrc | \.pypirc | [._]?netrc | \.pgpass | \.my\.cnf | \.htpasswd | \.git-credentials | \.dockercfg | \.dockerconfigjson
    | \.s3cfg | \.boto | \.terraformrc | \.vault-token | credentials\.tfrc\.json | (?:.*[._-])?kubeconfig(?:\..+)?
    | .+\.tfvars(?:\.json)? | .+\.tfstate(?:\.backup)? | local\.settings\.json | master\.key
    | (?:.*[._-])?service[-_]?account(?:[._-].*)?\.json | .*[._-]adminsdk[._-].*\.json | .*client[-_]?secrets?.*\.json
    """,
    re.VERBOSE,
)
_SPEAKING_NAMES: Final = re.compile(
    r"""(?:.*[._-])?(?:secrets?|credentials?|passwords?)
    (?:(?:[._-][\w-]+)*\.(?:ya?ml|json[c5]?|toml|ini|cfg|conf|config|env|properties|xml|plist|txt|csv|enc|dec))?""",
    re.VERBOSE,
)
"""Data files that are called so: code about secrets is code."""
_FOLDER_FILES: Final = (".docker/config.json", ".kube/config", ".aws/config")
_TEMPLATES: Final = re.compile(
    r"(?:^|[._-])(?:example|examples|sample|template|tmpl|tpl|dist|schema|defaults?)(?:[._-]|$)"
)

_KUBERNETES_SECRET: Final = re.compile(r"^[ \t-]*kind:[ \t]*[\"']?Secret\b", re.MULTILINE)
_DOCUMENT_START: Final = re.compile(r"(?m)^(?=---)")
_SECRET_SECTION: Final = re.compile(r"(data|stringData):\s*$")

_REFERENCE: Final = re.compile(
    r"""\$[A-Z_][A-Z0-9_]* | \$\{[\w.]+\} | \$\{\{[^{}]*\}\} | \{\{[^{}]*\}\} | \$\([^()]*\) | %\w+% | <[^<>]*> | \*+ | [xX]{3,}
    | \.{3,} | null | ~ | (?i:todo|tbd|fixme|placeholder|none|n/?a) | (?i:your[-_ ][a-z_ .-]*)
    | (?i:(?:change|replace|insert|set|fill)[-_ ]?(?:me|it|this|with|in|here)[a-z_ .-]*)""",
    re.VERBOSE,
)
"""Values that stand for others: variables, templates, placeholders."""
_LINE: Final = re.compile(
    r"""(?P<indent>\s*(?:-\s+)*)
    (?P<name>(?:(?:export|set|setx|ENV|ARG|env)\s+)?(?:"[^"=]*"|'[^'=]*'|//[^\s=]+|[\w.@$][^\s=:"'{}\[\],]*))
    (?P<sign>\s*(?:\?=|\+=|:=|=>|=)\s*|\s*:(?:\s+|$))(?P<value>.*)""",
    re.VERBOSE,
)
_STRUCTURE: Final = re.compile(
    r"""[\s{}\[\](),]* | \[[^\]]*\] | \[\[[^\]]*\]\] | ---.* | \.\.\. | [\w-]+(?:\s+(?:"[^"]*"|[\w-]+))*\s*+=?\s*+[{(\[]""",
    re.VERBOSE,
)
_COMMENT: Final = re.compile(r"(\s*(?:\#+|//(?=\s|$)|;+|--|REM\b|<!--)\s*)(.*)", re.IGNORECASE)
_OPENING: Final = re.compile(r"[{\[(]|&\w+")
"""Values that open a block, whose lines follow."""
_BLOCK_SCALAR: Final = re.compile(r"(?:&\S+\s+)?[|>][+-]?\d*[+-]?(?:\s+#.*)?")
_HERE_DOCUMENT: Final = re.compile(r"<<[-~]?\s*[\"']?(\w+)[\"']?")
_OPENING_QUOTE: Final = re.compile(r"\"\"\"|'''|[\"'`]")
_INDENTED_TEXT: Final = re.compile(r"\S.*")
_LOGIN_WORD: Final = re.compile(r"\b(password|account|macdef)(\s+)(\S+)")
_JSON_STRING: Final = re.compile(r'("(?:[^"\\\n]|\\.)*")(\s*:)?|(?<![\w"])(-?\d[\w.+-]*|true|false)\b')
_XML_VALUE: Final = re.compile(r"(?<=>)(\s*+)([^<>\s](?:[^<>]*[^<>\s])?)(\s*+)(?=<)|(=\s*)(\"[^\"]*\"|'[^']*')")


def is_secret_file(path: str) -> bool:
    """Return whether a file exists to hold secrets, by its path; one of an example does not.

    Args:
        path: Separated by ``/``.
    """
    lowered = path.lower()
    name = lowered.rpartition("/")[2]
    if lowered.endswith(_FOLDER_FILES):
        return True
    is_named_so = _NAMES.fullmatch(name) or _SPEAKING_NAMES.fullmatch(name)
    return is_named_so is not None and _TEMPLATES.search(name) is None


def remove_values(path: str, text: str) -> str:
    """Remove the values of a file of secrets, or of a Kubernetes secret in YAML; return other texts unchanged."""
    if is_secret_file(path):
        return "\n".join(_choose_remover(path.lower(), text)(text))
    if path.lower().endswith((".yml", ".yaml")) and _KUBERNETES_SECRET.search(text):
        return "".join(_remove_from_manifest(document) for document in _DOCUMENT_START.split(text))
    return text


def _choose_remover(path: str, text: str) -> Callable[[str], Iterator[str]]:
    head = text.lstrip()[:1]
    if head == "{" or path.endswith((".json", ".tfstate")):
        return _remove_from_json
    if head == "<":
        return _remove_from_xml
    if path.endswith("netrc"):
        return _remove_from_logins
    return _remove_from_lines


class _OpenValue(NamedTuple):
    """A value that goes on below its line.

    Attributes:
        indent: Indentation that its lines exceed, for a block scalar of YAML; -1 for others.
        end: What ends it: a quote, or the word of a here-document; empty for a block scalar.
        is_word: Whether `end` is a line of its own.
    """

    indent: int = -1
    end: str = ""
    is_word: bool = False

    def has_line(self, line: str) -> bool:
        """Return whether a line below belongs to the value and does not end it."""
        if not self.end:
            return not line.strip() or _count_indent(line) > self.indent
        return line.strip() != self.end if self.is_word else self.end not in line.replace("\\" + self.end, "")


def _remove_from_lines(text: str) -> Iterator[str]:
    value: _OpenValue | None = None
    for line in text.split("\n"):
        body = line.rstrip("\r")
        goes_on = value is not None and value.has_line(body)
        if value is not None and (goes_on or value.end):
            yield _INDENTED_TEXT.sub(REMOVED_VALUE, body) + line[len(body) :]
            value = value if goes_on else None
        else:
            yield _remove_from_line(body) + line[len(body) :]
            value = _find_open_value(body)


def _find_open_value(line: str) -> _OpenValue | None:
    """Return the value that a line begins and does not end."""
    setting = _LINE.fullmatch(line)
    text = setting["value"].strip() if setting else ""
    if _BLOCK_SCALAR.fullmatch(text):
        return _OpenValue(_count_indent(line))
    if heredoc := _HERE_DOCUMENT.fullmatch(text):
        return _OpenValue(end=heredoc[1], is_word=True)
    quote = _OPENING_QUOTE.match(text)
    if quote is None or text.replace("\\" + quote[0], "").count(quote[0]) > 1:
        return None
    return _OpenValue(end=quote[0])


def _count_indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _remove_from_line(line: str) -> str:
    if _STRUCTURE.fullmatch(line):
        return line
    if comment := _COMMENT.fullmatch(line):
        is_setting = _LINE.fullmatch(comment[2]) and re.match(r"(?:export\s+)?[\w.-]+\s*[=:]", comment[2])
        return comment[1] + (_remove_from_line(comment[2]) if is_setting else comment[2])
    if not (setting := _LINE.fullmatch(line)):
        indent = re.match(r"\s*(?:-\s+)?", line)
        start = indent.end() if indent else 0
        return line[:start] + _format_removed(line[start:])
    return line[: setting.start("value")] + _remove_value(setting["value"])


def _remove_value(value: str) -> str:
    """Remove a value; keep what is empty, opens a block, refers to something, or stands for a value."""
    bare = value.strip().rstrip(",;").strip("\"'`").strip()
    is_opening = any(pattern.fullmatch(value.strip()) for pattern in (_OPENING, _BLOCK_SCALAR, _HERE_DOCUMENT))
    if not bare or is_opening or bare.startswith("#") or _REFERENCE.fullmatch(bare):
        return value
    return _format_removed(value)


def _format_removed(value: str) -> str:
    """Return the mark of a removed value, quoted as the value was, and with the comma behind it."""
    quote = match[0] if (match := re.match(r"[\"']", value.strip())) else ""
    comma = "," if value.rstrip().endswith(",") else ""
    return f"{quote}{REMOVED_VALUE}{quote}{comma}"


def _remove_from_json(text: str) -> Iterator[str]:
    def replace(match: re.Match[str]) -> str:
        if match[2]:  # a name
            return match[0]
        value = (match[1] or match[3]).strip('"')
        return match[0] if not value or _REFERENCE.fullmatch(value) else f'"{REMOVED_VALUE}"'

    yield _JSON_STRING.sub(replace, text)


def _remove_from_xml(text: str) -> Iterator[str]:
    def replace(match: re.Match[str]) -> str:
        value = match[2] or match[5].strip("\"'")
        if _REFERENCE.fullmatch(value) or not value:
            return match[0]
        lines = "\n" * match[0].count("\n")
        return f'{match[4]}"{REMOVED_VALUE}"{lines}' if match[5] else f"{match[1]}{REMOVED_VALUE}{match[3]}{lines}"

    yield _XML_VALUE.sub(replace, text)


def _remove_from_logins(text: str) -> Iterator[str]:
    yield _LOGIN_WORD.sub(rf"\1\2{REMOVED_VALUE}", text)


def _remove_from_manifest(document: str) -> str:
    """Remove the values of the data sections of a Kubernetes secret; return other documents unchanged."""
    if not _KUBERNETES_SECRET.search(document):
        return document
    lines = document.split("\n")
    first = 0
    while first < len(lines):
        indent, first = _count_item_indent(lines[first]), first + 1
        is_section = _SECRET_SECTION.fullmatch(lines[first - 1].strip(" \t\r-"))
        if not is_section or not _has_secret_kind(lines, first - 1):
            continue
        last = first
        while last < len(lines) and (not lines[last].strip() or _count_indent(lines[last]) > indent):
            last += 1
        lines[first:last] = _remove_from_lines("\n".join(lines[first:last])) if last > first else []
        first = last
    return "\n".join(lines)


def _has_secret_kind(lines: Sequence[str], section: int) -> bool:
    """Return whether the object that a section belongs to, perhaps an item of a list, is a Kubernetes secret."""
    indent = _count_item_indent(lines[section])
    is_first = _count_indent(lines[section]) < indent
    above = () if is_first else _iterate_inside(reversed(lines[:section]), indent, ends_with_item=True)
    below = _iterate_inside(lines[section + 1 :], indent, ends_with_item=False)
    return any(_KUBERNETES_SECRET.match(line) and _count_item_indent(line) == indent for line in [*above, *below])


def _iterate_inside(lines: Iterable[str], indent: int, *, ends_with_item: bool) -> Iterator[str]:
    """Yield the lines up to the end of an object; an item of a list begins with its dash.

    Args:
        ends_with_item: Whether the line with the dash is the last line inside, rather than the first one outside.
    """
    for line in lines:
        is_item = _count_indent(line) < indent <= _count_item_indent(line)
        if line.strip() and _count_indent(line) < indent and not (is_item and ends_with_item):
            return
        yield line
        if is_item and line.strip():
            return


def _count_item_indent(line: str) -> int:
    """Count the indentation of a line's text behind the dashes of a list."""
    return len(line) - len(line.lstrip(" \t-"))
