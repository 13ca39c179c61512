"""Read JSON with comments and trailing commas, with the place of everything in it, so that a text can be edited minimally."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from coderag.errors import ConfigurationError

_BLANK: Final = re.compile(r"[ \t\r\n\ufeff]*")
_LINE_COMMENT: Final = re.compile(r"//[^\r\n]*")
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_PLAIN: Final = re.compile(r"[-+.\w]+")
_DEEPEST: Final = 200


@dataclass(slots=True)
class Value:
    """A value and where it stands: characters `start` to `end`.

    Attributes:
        data: The value as Python has it.
        members: Of an object, in their order.
        last_comment: Of an object: where the last comment in it ends that follows its last member, or its brace; else 0.
        ends_line: Whether that comment goes to the end of its line.
    """

    start: int
    end: int
    data: Any
    members: "list[Member]" = field(default_factory=list)
    last_comment: int = 0
    ends_line: bool = False

    @property
    def is_object(self) -> bool:
        """Whether it is an object."""
        return isinstance(self.data, dict)

    def member(self, name: str) -> "Member | None":
        """Return the member of a name; None if there is none."""
        return next((member for member in self.members if member.name == name), None)


@dataclass(slots=True)
class Member:
    """A member of an object.

    Attributes:
        start: Where its name begins.
        comma: Where the comma after it stands; None if there is none.
    """

    name: str
    start: int
    value: Value
    comma: int | None = None


def parse(text: str) -> Value:
    """Return what a text holds.

    Raises:
        ConfigurationError: It is no JSON; the message says in which line. It does not name the file.
    """
    return _Parser(text).document()


def find(root: Value, keys: Sequence[str]) -> Member | None:
    """Return the member at a path of names; None if there is none."""
    member, value = None, root
    for name in keys:
        member = value.member(name)
        if member is None:
            return None
        value = member.value
    return member


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._comment = 0  # where the last comment ended
        self._ends_line = False

    def document(self) -> Value:
        self._skip()
        value = self._value(0)
        self._skip()
        if self._at < len(self._text):
            raise self._fault("something follows the end")
        return value

    def _value(self, depth: int) -> Value:
        if depth > _DEEPEST:
            raise self._fault("nested too deeply")
        match self._text[self._at : self._at + 1]:
            case "{":
                return self._object(depth)
            case "[":
                return self._array(depth)
            case '"':
                return self._string()
            case "":
                raise self._fault("it ends too early")
            case _:
                return self._word()

    def _object(self, depth: int) -> Value:
        start = self._at
        members: list[Member] = []
        seen: set[str] = set()
        self._at += 1
        inside = self._at
        self._skip()
        while self._text[self._at : self._at + 1] != "}":
            if members and members[-1].comma is None:
                raise self._fault("a comma is missing")
            place = self._at
            if self._text[place : place + 1] != '"':
                raise self._fault(
                    "a name in double quotes is expected" if place < len(self._text) else "it ends too early"
                )
            name = self._string().data
            if name in seen:
                raise self._fault(f"{name!r} is given twice", place)
            seen.add(name)
            self._skip()
            self._take(":")
            self._skip()
            member = Member(name, place, self._value(depth + 1))
            inside = member.value.end
            self._skip()
            if self._text[self._at : self._at + 1] == ",":
                member.comma = self._at
                inside = self._at = self._at + 1
                self._skip()
            members.append(member)
        comment, ends_line = (self._comment if self._comment > inside else 0), self._ends_line
        self._at += 1
        data = {member.name: member.value.data for member in members}
        return Value(start, self._at, data, members, comment, comment > 0 and ends_line)

    def _array(self, depth: int) -> Value:
        start, items, separated = self._at, [], True
        self._at += 1
        self._skip()
        while self._text[self._at : self._at + 1] != "]":
            if not separated:
                raise self._fault("a comma is missing")
            items.append(self._value(depth + 1).data)
            self._skip()
            separated = self._text[self._at : self._at + 1] == ","
            if separated:
                self._at += 1
                self._skip()
        self._at += 1
        return Value(start, self._at, items)

    def _string(self) -> Value:
        found = _STRING.match(self._text, self._at)
        if found is None:
            raise self._fault("a string does not end")
        try:
            data = json.loads(found[0])
        except ValueError as error:
            raise self._fault("a string has a wrong escape") from error
        self._at = found.end()
        return Value(found.start(), found.end(), data)

    def _word(self) -> Value:
        found = _PLAIN.match(self._text, self._at)
        try:
            data = json.loads(found[0] if found else "")
        except ValueError as error:
            shown = found[0] if found else self._text[self._at]
            raise self._fault(f"{shown!r} is no value") from error
        assert found is not None
        self._at = found.end()
        return Value(found.start(), found.end(), data)

    def _take(self, character: str) -> None:
        if self._text[self._at : self._at + 1] != character:
            raise self._fault(f"{character!r} is expected")
        self._at += 1

    def _skip(self) -> None:
        """Go over white space and comments."""
        while True:
            found = _BLANK.match(self._text, self._at)
            assert found is not None
            self._at = found.end()
            if comment := _LINE_COMMENT.match(self._text, self._at):
                self._at = self._comment = comment.end()
                self._ends_line = True
            elif self._text.startswith("/*", self._at):
                end = self._text.find("*/", self._at + 2)
                if end < 0:
                    raise self._fault("a comment does not end")
                self._at = self._comment = end + 2
                self._ends_line = False
            else:
                return

    def _fault(self, what: str, place: int | None = None) -> ConfigurationError:
        before = self._text[: self._at if place is None else place]
        return ConfigurationError(f"line {before.count(chr(10)) + 1}: not valid JSON: {what}")
