"""Secrets recognized by the name they are assigned to: ``password = "..."``, and passwords in URLs.

The name detector of detect-secrets finds one value per line and accepts any text as a secret. Here labels, placeholders and
references are kept, so that code about passwords stays readable.
"""

import re

from coderag.models.redaction.patterns import SecretRule

_STRONG = (
    "api[_-]?key|auth[_-]?key|service[_-]?key|account[_-]?key|access[_-]?key|secret[_-]?key|signing[_-]?key|encryption[_-]?key|"
    "db[_-]?key|database[_-]?key|priv[_-]?key|private[_-]?key|client[_-]?key|master[_-]?key|db[_-]?pass|database[_-]?pass|"
    "(?:access|api|auth|bot|deploy|private|refresh|secret)[_-]?token|key[_-]?pass|pass[_-]?phrase|password|passwd|passwort|pwd|secret|contraseña|contrasena"
)
"""Names of secrets: those of detect-secrets, and more."""

_WEAK = "token|auth|credential|bearer|cookie|key|pass"
"""Names of possible secrets: the value has to look random."""

_ANY_NAME = rf"(?i:{_STRONG}|{_WEAK})"
_ANCHOR = "key|pass|pwd|secret|token|auth|credential|bearer|cookie|contrase"
_NAME = rf"(?P<name>{_ANY_NAME}[\w-]{{0,40}}+)"
_SIGN = r"""["'`\]]{0,3}\s*(?::\s*[\w.\[\]|<>?&]{1,40}\s*(?==)|\[\d*\]\s*)?"""
_SIGN += r"""(?P<sign>:=|=>|\|\|=|\?\??=|[!=]==?|[:=]|,(?=\s*["'`])|\()\s*"""
_QUOTED = r"""(?:@|[bBuUrRfFlL]{1,2})?(?P<quote>["'`])(?P<value>(?:(?!(?P=quote))[^\\\s]|\\.){3,500}?)(?P=quote)"""
_BARE = r"""(?P<value>[^\s"'`()\[\]{}<>$,;]{4,500})"""

_ASSIGNED = re.compile(_NAME + _SIGN + _QUOTED)
_COMPARED = re.compile(rf"{_QUOTED}\s*(?P<sign>[!=]==?)\s*{_NAME}")
_SETTING = re.compile(
    rf"""^\s*(?:[-*#]\s+)?(?:export\s+|set\s+|ENV\s+|ARG\s+)?["']?[\w.-]{{0,60}}?{_NAME}["']?(?P<sign>:\s+|\s*=\s*){_BARE}\s*(?:[#;].*)?$"""
)
_VARIABLE = re.compile(
    rf"(?:(?<![\w.$-])[A-Z0-9_]{{0,60}}?{_NAME}=(?=\S+\s)|^\s*(?:ENV|ARG|setx)\s+[A-Z0-9_]{{0,60}}?(?P<constant>(?i:{_STRONG}|{_WEAK})[A-Z0-9_]{{0,40}}+)\s+(?=\S+\s*$)){_BARE}"
)
_PAIR = re.compile(
    rf"""["']?\b(?i:key|name)["']?\s*[=:]\s*["']?[\w.:-]{{0,60}}?{_NAME}["']?\s*,?\s*["']?\b(?i:value)["']?\s*(?P<sign>[=:])\s*"""
    rf"""{_QUOTED}"""
)
_HEADER = re.compile(rf"""["'][\w-]{{0,40}}?{_NAME}(?P<sign>:\s*){_BARE}(?=["'])""")
_CURL_LOGIN = re.compile(
    r"""\bcurl\b[^|;]{0,300}?\s(?:-u|--user)[\s=]*["']?[^\s:"'$<{]{1,100}:(?P<value>[^\s"'`<>$]{3,200})"""
)
_SETTER = re.compile(r"""(?i)\b(?:define|\w*(?:set|put|add)\w*)\s*\(\s*["'][\w.-]*$""")
_OPTION = re.compile(rf"(?<!\S)--?[\w-]{{0,40}}?{_NAME}(?P<sign>[= ]){_BARE}(?!\S)")
_IN_CONNECTION = re.compile(
    r"""(?P<name>(?i:password|pwd|accountkey|sharedaccesskey|sharedsecret))\s?=\s?(?P<value>[^\s;"'`<>{}$,()&]{3,200})"""
)
_IN_URL = re.compile(r"""://[^\s:/@"'`<>]{0,100}:(?P<value>[^\s/"'`<>]{1,200})@(?=[\w\[.-])""")
_AUTHORIZATION = re.compile(
    r"(?i)\b(?:bearer|basic|authorization[\"']?\s*[:,]\s*[\"']?token)\s+(?P<value>[a-z0-9+/=._~-]{12,})"
)
_ELEMENT = re.compile(rf"<(?P<name>[\w.:-]*{_ANY_NAME}[\w.:-]*)(?P<sign>>)(?P<value>[^<>\s]{{4,200}})</")

_NO_VALUE = re.compile(
    r"^[$%{<#@&]|^\*+$|^[xX]+$|^\.+$|\$\{|\{\{|%\(|%[sdv@]|\{\w*\}|#\{|\\\(|^(?:\.{0,2}|~)/|^\w+://(?!\S+@)|^\w+\("
)
"""Placeholders and references: a variable, a template, a path, an address."""

_LABEL = re.compile(r"[^\W\d_]+(?:[-_.:/][^\W\d_]+)*")
_REFERENCE = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::|\?\.)\w+)+|[A-Za-z_]\w*")
_NAMED = re.compile(rf"(?i)(?:{_ANY_NAME}|hash|salt|crypt)")
_NO_PASSWORD = re.compile(
    "(?i)any|always|basic|bool|boolean|body|byte|bytes|char|default|digest|disabled|dynamic|email|empty|enabled|env|environ|"
    "environment|false|field|file|form|header|hidden|include|input|int|integer|invalid|jwt|label|login|missing|mixed|name|never|"
    "nil|none|null|nullable|number|oauth|object|omit|optional|path|plain|query|required|session|str|strict|string|text|true|"
    "type|undefined|unknown|user|username|value|varchar|void"
)
"""Words that are never passwords."""

_NAMES_SECRET = re.compile(rf"(?i){_STRONG}")
_IS_SECRET = re.compile(rf"(?i)(?:{_STRONG})(?:[_-]?(?:\d+|value|base64|text|plain|prod|dev|test|staging))?$")
_IS_PASSWORD = re.compile(r"(?i)(?:pass[_-]?phrase|password|passwd|passwort|pwd|contraseña|contrasena)\d*$")
_CODED = re.compile(r"[A-Za-z0-9+/=_.~!@#%^&*-]+")
_UUID = re.compile(r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_CHANGE = re.compile(r"(?<=[a-z])[-_.]?(?=[A-Z0-9])|(?<=[A-Z])[-_.]?(?=[0-9])|(?<=[0-9])[-_.]?(?=[A-Za-z])")

_MIN_RANDOM_CHARS, _MIN_LONG_RANDOM_CHARS = 8, 16  # characters
_MIN_CHANGE_RATE = 0.2  # per character: random base64 has 0.5, random hexadecimal digits 0.4, camelCase names 0.15


def build_assignment_rules() -> list[SecretRule]:
    """Build the rules for values recognized by their names."""
    return [
        SecretRule("Basic Auth Credentials", _IN_URL, "://", "value", _is_url_password),
        SecretRule("Authorization Header", _AUTHORIZATION, "bearer|basic|token", "value", _has_letters_and_digits),
        SecretRule("Password", _ASSIGNED, _ANCHOR, "value", _is_quoted_secret),
        SecretRule("Password", _COMPARED, _ANCHOR, "value", _is_quoted_secret),
        SecretRule("Password", _IN_CONNECTION, "password|pwd|key|secret", "value", _is_connection_secret),
        SecretRule("Password", _ELEMENT, _ANCHOR, "value", _is_quoted_secret),
        SecretRule("Password", _OPTION, _ANCHOR, "value", _is_bare_secret),
        SecretRule("Password", _PAIR, _ANCHOR, "value", _is_quoted_secret),
        SecretRule("Password", _HEADER, _ANCHOR, "value", _is_header_secret),
        SecretRule("Password", _VARIABLE, _ANCHOR, "value", _is_variable_secret),
        SecretRule("Basic Auth Credentials", _CURL_LOGIN, "curl", "value", _is_url_password),
        SecretRule("Password", _SETTING, _ANCHOR, "value", _is_bare_secret),
    ]


def _is_quoted_secret(match: re.Match[str]) -> bool:
    name, value = match["name"], match["value"]
    if _NO_VALUE.search(value) or not any(map(str.isalnum, value)):
        return False
    if not _IS_SECRET.search(name):
        return _is_random(value, _MIN_RANDOM_CHARS if _NAMES_SECRET.search(name) else _MIN_LONG_RANDOM_CHARS)
    if not _LABEL.fullmatch(value):
        return True
    if match["sign"] in {",", "("} and not _SETTER.search(match.string, 0, match.start()):
        return False  # a list of names, or a lookup key
    return not _is_word(value)


def _is_bare_secret(match: re.Match[str]) -> bool:
    """Return whether a value without quotes is a secret; in code it is more likely a variable name."""
    name, value = match["name"], match["value"]
    if _NO_VALUE.search(value) or not any(map(str.isalnum, value)):
        return False
    if not _IS_SECRET.search(name):
        return _is_random(value, _MIN_RANDOM_CHARS if _NAMES_SECRET.search(name) else _MIN_LONG_RANDOM_CHARS)
    if _LABEL.fullmatch(value):
        is_variable = match["sign"] == "=" and (name == name.upper() or _IS_PASSWORD.search(name) is not None)
        is_setting = match["sign"].startswith(":") and value.islower()
        return (is_variable or is_setting) and not _is_word(value)
    if _REFERENCE.fullmatch(value):
        return not ("." in value or ":" in value or ">" in value or _NAMED.search(value)) and len(value) > 5
    return True


def _is_header_secret(match: re.Match[str]) -> bool:
    """Return whether the value of a quoted header is a secret; a word is rather part of a message."""
    return not _LABEL.fullmatch(match["value"]) and _is_bare_secret(match)


def _is_variable_secret(match: re.Match[str]) -> bool:
    """Return whether the value of an environment variable is a secret."""
    name, value = match["name"] or match["constant"], match["value"]
    if name != name.upper() or _NO_VALUE.search(value) or not any(map(str.isalnum, value)):
        return False
    if not _IS_SECRET.search(name):
        return _is_random(value, _MIN_RANDOM_CHARS if _NAMES_SECRET.search(name) else _MIN_LONG_RANDOM_CHARS)
    return not (_LABEL.fullmatch(value) and _is_word(value))


def _is_connection_secret(match: re.Match[str]) -> bool:
    """Return whether an apparent part of a connection string is one: other parts are next to it."""
    before, after = match.string[: match.start()].rstrip(), match.string[match.end() :].lstrip()
    if not (before.endswith((";", "&", "?")) or after.startswith((";", "&"))) or _NO_VALUE.search(match["value"]):
        return False
    return not (_LABEL.fullmatch(match["value"]) and _is_word(match["value"]))


def _is_url_password(match: re.Match[str]) -> bool:
    return not _NO_VALUE.search(match["value"])


def _has_letters_and_digits(match: re.Match[str]) -> bool:
    value = match["value"]
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _is_word(value: str) -> bool:
    """Return whether letters are a descriptive word rather than a password."""
    return bool(_NO_PASSWORD.fullmatch(value)) or bool(_NAMED.search(value))


def _is_random(value: str, min_chars: int) -> bool:
    """Return whether a value looks random: its letters and digits alternate often."""
    if len(value) < min_chars or not _CODED.fullmatch(value) or _UUID.fullmatch(value):
        return False
    return any(map(str.isdigit, value)) and len(_CHANGE.findall(value)) >= _MIN_CHANGE_RATE * len(value)
