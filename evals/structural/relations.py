"""What a recorded truth says of the relations between declarations: the right answers of questions."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

from evals.graph.ground_truth import SEPARATE_CALL_KINDS, CallTarget, GroundTruth

from .answers import Answer, User, is_test, itself, using
from .outline import Declared, Outline

_UNKNOWN_KINDS = SEPARATE_CALL_KINDS | {"value"}  # calls that do not name what they reach
_IMPACT_STEPS = 2
_Users = Mapping[Declared, Sequence[User]]


class Relations:
    """The relations of one repository, as far as they are known.

    Args:
        truth: Its calls and classes.
        outline: Its declarations.
    """

    def __init__(self, truth: GroundTruth, outline: Outline) -> None:
        self._outline = outline
        self._calls: dict[Declared, list[User]] = defaultdict(list)
        self._uses: dict[Declared, list[User]] = defaultdict(list)  # calls of any kind
        self._constructed: dict[Declared, list[User]] = defaultdict(list)
        self._called: dict[Declared, dict[Declared, Answer]] = defaultdict(dict)
        self._derived: dict[Declared, list[Declared]] = defaultdict(list)
        self._members: dict[tuple[str, str], list[Declared]] = defaultdict(list)
        for declared in outline.declarations:
            self._members[declared.path, declared.owner].append(declared)
        for site in truth.sites:
            user = User(outline.around(site.path, site.line), site.path, site.line)
            for target in site.targets:
                callee = outline.at(target.place)
                if callee is not None and callee != user.declared:
                    self._add_call(user, callee, target)
        for row in truth.hierarchy:
            derived = outline.at(row.declaration)
            for base in map(outline.at, row.bases):
                if derived is not None and base is not None:
                    self._derived[base].append(derived)

    def _add_call(self, user: User, callee: Declared, target: CallTarget) -> None:
        self._uses[callee].append(user)
        if target.kind in _UNKNOWN_KINDS:
            return
        self._calls[callee].append(user)
        for constructor in filter(None, map(self._outline.at, target.also)):
            self._constructed[constructor].append(user)
        caller = user.declared
        if caller is not None and not (callee.path == caller.path and caller.first <= callee.line <= caller.last):
            self._called[caller][callee] = self._called_one(callee, target)

    def callers(self, declared: Declared) -> list[Answer]:
        """Return what calls a function, or instantiates a class."""
        return using(self._calls.get(declared, ()), declared.name)

    def users(self, declared: Declared) -> list[Answer]:
        """Return its callers, and the classes right below a class."""
        return [*self.callers(declared), *map(itself, self._derived.get(declared, ()))]

    def callees(self, declared: Declared) -> list[Answer]:
        """Return what a function calls."""
        return list(self._called.get(declared, {}).values())

    def subtypes(self, declared: Declared) -> list[Answer]:
        """Return the classes below a class, however far."""
        return [itself(one) for one in self._below(declared)]

    def overrides(self, declared: Declared) -> list[Answer]:
        """Return the methods that override a method, in the classes below its own."""
        return [itself(one) for one in self._overriding(declared)]

    def tests(self, declared: Declared) -> list[Answer]:
        """Return the tests that call a function, instantiate a class or call its methods themselves."""
        users = chain.from_iterable(self._calls.get(one, ()) for one in (declared, *self._inside(declared)))
        return using(filter(is_test, users), "" if self._inside(declared) else declared.name)

    def impact(self, declared: Declared) -> list[Answer]:
        """Return what uses a declaration or its members, derives from it or overrides it, and what does so to that."""
        return self._reached(declared, self._calls, _IMPACT_STEPS)

    def all_impact(self, declared: Declared) -> list[Answer]:
        """Return what is known to be affected in some way, from further away too."""
        return self._reached(declared, self._uses, _IMPACT_STEPS + 1)

    def right(self, declared: Declared) -> list[Answer]:
        """Return what is known to use a declaration or its members, whatever way: right where users are asked for."""
        users = chain.from_iterable(self._uses.get(one, ()) for one in (declared, *self._inside(declared)))
        return using([*users, *self._constructed.get(declared, ())])

    def importers(self, path: str) -> list[Answer]:
        """Return the files that import a file, each by the lines of its imports."""
        return using(User(None, row.path, row.line) for row in self._outline.imports if row.imported == path)

    def _called_one(self, callee: Declared, target: CallTarget) -> Answer:
        also = [one for one in map(self._outline.at, (*target.also, *target.overridden)) if one is not None]
        return itself(callee)._replace(also=tuple(map(itself, also)))

    def _reached(self, declared: Declared, calls: _Users, steps: int) -> list[Answer]:
        found: dict[Declared | str, list[User]] = defaultdict(list)
        reached = frontier = {declared}
        for _ in range(steps):
            users = [user for one in frontier for user in self._affected(one, calls)]
            for user in users:
                found[user.declared or user.path].append(user)
            frontier = {user.declared for user in users if user.declared is not None} - reached
            reached = reached | frontier
        inside = {declared, *self._inside(declared)}
        return [answer for unit, users in found.items() if unit not in inside for answer in using(users)]

    def _affected(self, declared: Declared, calls: _Users) -> Iterator[User]:
        for one in (declared, *self._inside(declared)):
            yield from calls.get(one, ())
            yield from self._constructed.get(one, ())
            for below in (*self._derived.get(one, ()), *self._overriding(one)):
                yield User(below, below.path, below.line)

    def _inside(self, declared: Declared) -> list[Declared]:
        return self._members.get((declared.path, declared.qualified_name), []) if declared.kind == "class" else []

    def _below(self, declared: Declared) -> list[Declared]:
        found: dict[Declared, None] = {}
        waiting = [declared]
        while waiting:
            for one in self._derived.get(waiting.pop(), ()):
                if one not in found and one != declared:
                    found[one] = None
                    waiting += [] if one.local else [one]  # a class made by each call may have other bases each time
        return list(found)

    def _overriding(self, declared: Declared) -> list[Declared]:
        owners = [one for one in self._outline.files[declared.path] if one.qualified_name == declared.owner]
        if declared.kind != "function" or not owners or owners[0].kind != "class":
            return []
        members = chain.from_iterable(map(self._inside, self._below(owners[0])))
        return [one for one in members if one.name == declared.name and one.kind == "function"]


Relation = Callable[[Relations, Declared], list[Answer]]
