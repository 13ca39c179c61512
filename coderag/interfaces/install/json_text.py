"""Parser of JSON with comments and trailing commas that records positions, for minimal edits."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from coderag.errors import ConfigurationError

_BLANK: Final = re.compile(r"[ \t\r\n\ufeff]*")
_LINE_COMMENT: Final = re.compile(r"//[^\r\n]*")
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_LITERAL: Final = re.compile(r"[-+.\w]+")
_MAX_DEPTH: Final = 200


@dataclass(slots=True)
class JsonValue:
    """A JSON value and its span in characters, `start` to `end`.

    Attributes:
        data: The value as a Python object.
        members: Members of an object, in order.
        last_comment: End of the last comment after an object's last member or opening brace; otherwise 0.
        ends_line: Whether that comment is a line comment.
    """

    start: int
    end: int
    data: Any
    members: "list[JsonMember]" = field(default_factory=list)
    last_comment: int = 0
    ends_line: bool = False

    @property
    def is_object(self) -> bool:
        """True if the value is an object."""
        return isinstance(self.data, dict)

    def get_member(self, name: str) -> "JsonMember | None":
        """Return the member with a name; None if there is none."""
        return next((member for member in self.members if member.name == name), None)


@dataclass(slots=True)
class JsonMember:
    """A member of an object.

    Attributes:
        start: Start of its name.
        comma: Position of the comma after it; None if there is none.
    """

    name: str
    start: int
    value: JsonValue
    comma: int | None = None


def parse_json(text: str) -> JsonValue:
    """Parse a JSON text with comments.

    Raises:
        ConfigurationError: It is not JSON; the message has the line but no file name.
    """
    return _Parser(text).parse_document()


def find_member(root: JsonValue, keys: Sequence[str]) -> JsonMember | None:
    """Return the member at a key path; None if there is none."""
    member, value = None, root
    for name in keys:
        member = value.get_member(name)
        if member is None:
            return None
        value = member.value
    return member


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._comment = 0  # end of the last comment
        self._ends_line = False

    def parse_document(self) -> JsonValue:
        self._skip_blanks()
        value = self._parse_value(0)
        self._skip_blanks()
        if self._position < len(self._text):
            raise self._make_error("something follows the end")
        return value

    def _parse_value(self, depth: int) -> JsonValue:
        if depth > _MAX_DEPTH:
            raise self._make_error("nested too deeply")
        match self._text[self._position : self._position + 1]:
            case "{":
                return self._parse_object(depth)
            case "[":
                return self._parse_array(depth)
            case '"':
                return self._parse_string()
            case "":
                raise self._make_error("it is truncated")
            case _:
                return self._parse_literal()

    def _parse_object(self, depth: int) -> JsonValue:
        start = self._position
        members: list[JsonMember] = []
        seen: set[str] = set()
        self._position += 1
        content_end = self._position
        self._skip_blanks()
        while self._text[self._position : self._position + 1] != "}":
            if members and members[-1].comma is None:
                raise self._make_error("a comma is missing")
            position = self._position
            if self._text[position : position + 1] != '"':
                raise self._make_error(
                    "a name in double quotes is expected" if position < len(self._text) else "it is truncated"
                )
            name = self._parse_string().data
            if name in seen:
                raise self._make_error(f"{name!r} is given twice", position)
            seen.add(name)
            self._skip_blanks()
            self._expect(":")
            self._skip_blanks()
            member = JsonMember(name, position, self._parse_value(depth + 1))
            content_end = member.value.end
            self._skip_blanks()
            if self._text[self._position : self._position + 1] == ",":
                member.comma = self._position
                content_end = self._position = self._position + 1
                self._skip_blanks()
            members.append(member)
        comment, ends_line = (self._comment if self._comment > content_end else 0), self._ends_line
        self._position += 1
        data = {member.name: member.value.data for member in members}
        return JsonValue(start, self._position, data, members, comment, comment > 0 and ends_line)

    def _parse_array(self, depth: int) -> JsonValue:
        start, items, separated = self._position, [], True
        self._position += 1
        self._skip_blanks()
        while self._text[self._position : self._position + 1] != "]":
            if not separated:
                raise self._make_error("a comma is missing")
            items.append(self._parse_value(depth + 1).data)
            self._skip_blanks()
            separated = self._text[self._position : self._position + 1] == ","
            if separated:
                self._position += 1
                self._skip_blanks()
        self._position += 1
        return JsonValue(start, self._position, items)

    def _parse_string(self) -> JsonValue:
        match = _STRING.match(self._text, self._position)
        if match is None:
            raise self._make_error("a string does not end")
        try:
            data = json.loads(match[0])
        except ValueError as error:
            raise self._make_error("a string has a wrong escape") from error
        self._position = match.end()
        return JsonValue(match.start(), match.end(), data)

    def _parse_literal(self) -> JsonValue:
        match = _LITERAL.match(self._text, self._position)
        try:
            data = json.loads(match[0] if match else "")
        except ValueError as error:
            excerpt = match[0] if match else self._text[self._position]
            raise self._make_error(f"{excerpt!r} is not a value") from error
        assert match is not None
        self._position = match.end()
        return JsonValue(match.start(), match.end(), data)

    def _expect(self, character: str) -> None:
        if self._text[self._position : self._position + 1] != character:
            raise self._make_error(f"{character!r} is expected")
        self._position += 1

    def _skip_blanks(self) -> None:
        """Skip white space and comments."""
        while True:
            match = _BLANK.match(self._text, self._position)
            assert match is not None
            self._position = match.end()
            if comment := _LINE_COMMENT.match(self._text, self._position):
                self._position = self._comment = comment.end()
                self._ends_line = True
            elif self._text.startswith("/*", self._position):
                end = self._text.find("*/", self._position + 2)
                if end < 0:
                    raise self._make_error("a comment does not end")
                self._position = self._comment = end + 2
                self._ends_line = False
            else:
                return

    def _make_error(self, problem: str, position: int | None = None) -> ConfigurationError:
        before = self._text[: self._position if position is None else position]
        return ConfigurationError(f"line {before.count(chr(10)) + 1}: not valid JSON: {problem}")
