"""Claims against the lines that they cite, in real files."""

import hashlib
from dataclasses import replace

import pytest

from coderag.answering.evidence.citation_checker import CitationChecker
from coderag.answering.generated.claim_checker import ClaimChecker
from coderag.answering.generated.numbered_evidence import NumberedEvidence
from coderag.answering.generated.statements import Statement
from coderag.schema.chunks import FileRecord
from tests.support.pieces import EXAMPLE

SESSION = '''class Session(Base):
    """Keeps who is logged in."""

    timeout_s = 30
    cache_bytes = 2 * 1024 * 1024

    def login(self, user, password):
        # The password is compared in
        # constant time.
        if not verify_password(password, user.digest):
            raise AuthError("wrong user or password")
        return self.store.open(user.name, ttl=3_600)
'''
MONEY = "from decimal import Decimal\n\n\ndef round_up(value):\n    return Decimal(value).quantize(CENT)\n"


class Repository:
    def __init__(self, root) -> None:
        self.root = root
        self.files: dict[str, str] = {}

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")
        self.files.setdefault(path, text)  # as indexed

    def checker(self):
        names = {"src/auth/session.py": "Session", "src/money.py": "round_up"}
        records = [
            FileRecord(path, "indexed", hash=hashlib.sha256(text.encode()).hexdigest(), encoding="utf-8")
            for path, text in self.files.items()
        ]
        evidence = [
            NumberedEvidence(
                replace(EXAMPLE, path=path, name=names[path], start_line=1, end_line=text.count("\n"), text=text),
                "",
                "",
                "",
            )
            for path, text in self.files.items()
        ]
        return ClaimChecker(evidence, CitationChecker(self.root, records), [*self.files, "src/other.py", "README.md"])


@pytest.fixture
def repository(tmp_path):
    built = Repository(tmp_path)
    built.write("src/auth/session.py", SESSION)
    built.write("src/money.py", MONEY)
    return built


@pytest.mark.parametrize(
    "claim",
    [
        "`Session.login()` compares the password [1].",
        "`session.login(user, password)` compares the password [1].",
        "`Session` extends `Base` [1].",
        "`Session::login` and `Session#login` are one [1].",
        "It calls `verify_password(password, user.digest)` [1].",
        "It calls `verify_password( password,\nuser.digest )` [1].",
        "It returns `None` or `True` [1].",
        "`self.store.open` opens it [1].",
        "verify_password() is called [1].",
        'The class says "Keeps who is logged in" [1].',
        "The message is “wrong user or password” [1].",
        'The comment says "compared in constant time." [1]',
        'It says "Keeps who ... logged in" [1].',
        "Die Meldung lautet „wrong user or password“ [1].",
        "It is in `src/auth/session.py` [1].",
        "It is in session.py:7-9 [1].",
        "It is in `auth/session.py:10` [1].",
        "It times out after 30 s [1].",
        "It times out after 30 seconds [1].",
        "A session lives for 60 minutes [1].",
        "A session lives for 1 hour [1].",
        "It keeps 2 MB [1].",
        "It has two steps and 3 parts [1].",
        "`round_up` quantizes what `login` gives [1][2].",
        "Rounding is exact [2].",
        "It uses `decimal.Decimal` [2].",
        "它用 `round_up` 取整 [2]。",
        "C# and Node.js are not used, e.g. here [1].",
        "It follows RFC 2616 and HTTP 404 and SHA-256 [1].",
        "It ends with `:` and `)` [1].",
        "It raises `AuthError`, an *error* [1], and nothing else [99].",
        "The comment says 'compared in constant time' [1].",
        "The users' password is the class's business and nobody else's [1].",
        "An AuthError is raised, as on GitHub, in TypeScript and over WebSockets [1].",
        "It is declared in [the session](src/auth/session.py#L7-L9) [1].",
        "session.login is what auth.session has [1].",
        "A session lives for sixty minutes, ten at a time [1].",
        "It is Python 3.11, Unicode 15.1 and HTTP 1.1 [1].",
    ],
)
def test_grounded_claim_is_verified(repository, claim):
    assert repository.checker().check_claim(Statement(claim)).status == "verified"


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("`Session.logout()` ends it [1].", "`Session.logout()`"),
        ("`Account.login` is called [1].", "`Account.login`"),
        ("`round_up` is called [1].", "`round_up`"),
        ("<code>round_down</code> is called [1].", "`round_down`"),
        ("check_password() is called [1].", "`check_password()`"),
        ("The field is max_retries [1].", "`max_retries`"),
        ("`verify_password(password, salt)` is called [1].", "`verify_password(password, salt)`"),
        ("`log` is called [1].", "`log`"),  # part of a name only
        ("`LOGIN` is called [1].", "`LOGIN`"),
        ("`=>` maps it [1].", "`=>`"),
        ('It says "the user is unknown" [1].', "the quotation “the user is unknown”"),
        ("Die Meldung lautet „falscher Nutzer oder Passwort“ [1].", "the quotation “falscher Nutzer oder Passwort”"),
        ("消息是「密码或用户名是错误的」[1]。", "the quotation “密码或用户名是错误的”"),
        ("It is in `src/money.py` [1].", "the place `src/money.py`"),
        ("It is in src/auth/session.py:99-120 [1].", "the place `src/auth/session.py:99`"),
        ("It is in src/gone.py [1].", "the place `src/gone.py`"),
        ("See README.md [1].", "the place `README.md`"),
        ("It times out after 45 s [1].", "the number 45 s"),
        ("It times out after 5 seconds [1].", "the number 5 seconds"),
        ("It allows 250 users [1].", "the number 250"),
        ("It keeps 16 MB [1].", "the number 16 MB"),
        ("It lives for 7 hours [1].", "the number 7 hours"),
        ("It lives for forty minutes [1].", "the number 40 minutes"),
        ("It was added in version 7.31 [1].", "the number 7.31"),
        ("The flag is 0xBEEF [1].", "the number 0xBEEF"),
        ("It says 'the user is unknown' [1].", "the quotation “the user is unknown”"),
        ("SessionManager logs in [1].", "`SessionManager`"),
        ("**PasswordChecker** compares it [1].", "`PasswordChecker`"),
        ("auth.session.Manager logs in [1].", "`auth.session.Manager`"),
        ("Session::logout ends it [1].", "`Session::logout`"),
        ("It is marked with @cached_for_users [1].", "`@cached_for_users`"),
        ("--no-login turns it off [1].", "`--no-login`"),
        ("It is in [the session](src/auth/gone.py) [1].", "the place `src/auth/gone.py`"),
        ("It is in [the session](src/auth/session.py#L99) [1].", "the place `src/auth/session.py:99`"),
        ("It asks https://login.example/token first [1].", "the address https://login.example/token"),
    ],
)
def test_ungrounded_claim_is_unsupported(repository, claim, reason):
    verdict = repository.checker().check_claim(Statement(claim))
    assert (verdict.status, verdict.reason) == ("unsupported", f"{reason} is not in what it cites")
    assert verdict.cited == [1]


@pytest.mark.parametrize(
    "claim",
    [
        "Nothing else in this repository calls `round_up` [2].",
        "`round_up` is never used anywhere [2].",
        "`round_up` has no callers [2].",
        "`round_up` is dead code [2].",
    ],
)
def test_absence_is_not_verified_by_any_line(repository, claim):
    verdict = repository.checker().check_claim(Statement(claim))
    assert (verdict.status, verdict.reason) == ("unsupported", "cited lines cannot show that nothing else uses it")


def test_claim_citing_nearly_everything_is_unsupported(repository):
    piece = replace(EXAMPLE, path="src/money.py", end_line=5, text=MONEY)
    records = [FileRecord("src/money.py", "indexed", encoding="utf-8")]
    checker = ClaimChecker([NumberedEvidence(piece, "", "", "")] * 20, CitationChecker(repository.root, records), [])
    assert (
        checker.check_claim(Statement("`round_up` rounds [1-20].")).reason == "it cites 20 pieces of evidence at once"
    )


def test_invented_number_is_not_a_citation(repository):
    verdict = repository.checker().check_claim(Statement("It works [7, 8]."))
    assert (verdict.status, verdict.cited) == ("unsupported", ())
    assert verdict.reason == "there is no evidence [7], [8]"


def test_uncited_claim_is_classified_by_its_names(repository):
    check = repository.checker().check_claim
    known, unknown = check(Statement("`login` is slow.")), check(Statement("`logout` is slow."))
    assert (known.status, known.names_unknown, known.reason) == ("uncited", False, "it cites nothing")
    assert (unknown.status, unknown.names_unknown) == ("uncited", True)
    assert unknown.reason == "`logout` is in none of the evidence"


def test_brackets_in_code_are_not_citations(repository):
    assert repository.checker().check_claim(Statement("`users[1]` is read.")).status == "uncited"


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("It is in `my docs/read me:1-2` [1].", "verified"),
        ("It is in `read me:2` [1].", "verified"),
        ("It is in `my docs/read me:7` [1].", "unsupported"),
        ("It is in `my docs/read you` [1].", "unsupported"),
    ],
)
def test_path_with_blanks_and_no_extension_is_recognized(repository, claim, status):
    text = "one\ntwo\n"
    repository.write("my docs/read me", text)
    named = NumberedEvidence(replace(EXAMPLE, path="my docs/read me", name="read", end_line=2, text=text), "", "", "")
    records = [FileRecord("my docs/read me", "indexed", encoding="utf-8")]
    checker = ClaimChecker([named], CitationChecker(repository.root, records), ["my docs/read me"])
    assert checker.check_claim(Statement(claim)).status == status


def test_module_path_is_grounded_by_its_words(repository):
    repository.write("src/other.py", "from src.money import round_up\nfrom auth import session\n")
    checker = ClaimChecker(
        [
            NumberedEvidence(
                replace(
                    EXAMPLE, path="src/other.py", name="src/other", end_line=2, text=repository.files["src/other.py"]
                ),
                "",
                "",
                "",
            )
        ],
        CitationChecker(repository.root, [FileRecord("src/other.py", "indexed", encoding="utf-8")]),
        ["src/other.py", "src/money.py"],
    )
    assert checker.check_claim(Statement("It imports `src/money.py` [1].")).status == "verified"


# What is on disk


def test_changed_lines_support_nothing(repository):
    repository.write("src/money.py", MONEY.replace("CENT", "EURO"))
    verdict = repository.checker().check_claim(Statement("`round_up` rounds [2]."))
    assert (verdict.status, verdict.cited) == ("unsupported", [2])
    assert verdict.reason == "src/money.py: the lines have changed since they were indexed"


def test_claim_rests_on_its_verified_citations(repository):
    (repository.root / "src/money.py").unlink()
    checker = repository.checker()
    assert checker.check_claim(Statement("`Session` logs in [1][2].")).cited == [1]
    assert checker.check_claim(Statement("`Session` uses `round_up` [1][2].")).status == "unsupported"


def test_moved_lines_are_cited_at_their_new_location(repository):
    repository.write("src/money.py", "# new\n\n" + MONEY)
    checker = repository.checker()
    assert checker.check_claim(Statement("`round_up` rounds, see src/money.py:6 [2].")).status == "verified"
    assert (checker.check_citation(2).start_line, checker.check_citation(2).moved_from) == (3, 1)


# Blocks of code


@pytest.mark.parametrize(
    ("block", "numbers"),
    [
        ("```python\ndef round_up(value):\n    return Decimal(value).quantize(CENT)\n```", [2]),
        ("```\n  def round_up(value):\n\n  return Decimal( value ).quantize(CENT)\n```", [2]),
        ("```python\n# src/money.py\ndef round_up(value):\n    ...\n```", [2]),
        ("```python\nclass Session(Base):\n    # ... more\n    def login(self, user, password):\n```", [1]),
        (
            "```python\n# auth/session.py\nclass Session(Base):\n...\n# src/money.py:4-5\ndef round_up(value):\n```",
            [1, 2],
        ),
        ("```python\nclass Session(Base):\n...\ndef round_up(value):\n```", []),  # of two files, as if they were one
        ("```python\ntimeout_s = 30\n...\nclass Session(Base):\n```", []),  # in another order
        ("    timeout_s = 30", [1]),
        ("~~~~\ntimeout_s = 30\n~~~~", [1]),
        ("```python\ntimeout_s = 30\n", [1]),
        ("```python\ntimeout_s = 31\n```", []),
        ("```python\ndef round_up(value):\n    return value\n```", []),
        ("```console\n$ pip install money\n```", []),
    ],
)
def test_code_is_found_apart_from_white_space(repository, block, numbers):
    assert list(repository.checker().find_code(block)) == numbers


def test_code_of_a_changed_file_is_not_found(repository):
    repository.write("src/money.py", "")
    assert not repository.checker().find_code("```\ndef round_up(value):\n```")
