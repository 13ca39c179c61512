import pytest

from coderag.answering.generated.quantities import find_unsupported_number

CODE = "timeout = 30_000\nsize = 4 * 1024 * 1024\nmask = 1 << 20\nlimit = 2 ** 16\nratio = 0.25\nwait = 60 * 60\nflag = 0xFF\n"


@pytest.mark.parametrize(
    "statement",
    [
        *(
            "It waits 30 s.",
            "It waits 30s.",
            "It waits 30,000 ms.",
            "It waits 30 seconds at most.",
            "It has 4 MB.",
            "It has 4096 KiB.",
        ),
        *(
            "It has 1048576 entries.",
            "It has 65,536 ports.",
            "It takes 25% of it.",
            "It takes 0.25 of it.",
            "It lasts one or 1 hour.",
        ),
        *(
            "The flag is 255.",
            "It has 3 steps and 9 parts.",
            "See RFC 2616 14.2 and ISO 8601.",
            "It answers 404.",
            "It is of 2019.",
        ),
        *(
            "On line 99 of it.",
            "A 64-bit number.",
            "With C++14 and Python 3.11.",
            "It is 3D and v22.",
            "UTF-16 and SHA-256.",
            "10 + b.",
        ),
    ],
)
def test_number_in_any_unit_or_no_fact_is_accepted(statement):
    assert find_unsupported_number(statement, CODE) == ""


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("It waits 45 s.", "45 s"),
        ("It waits 7 seconds.", "7 seconds"),
        ("It has 8 MB.", "8 MB"),
        ("It takes 35% of it.", "35%"),
        ("It allows 250 users.", "250"),
        ("It tries 12 times.", "12 times"),
        ("It has 3 steps and 17 parts.", "17"),
        ("It has 12,000 entries.", "12,000"),
    ],
)
def test_unsupported_number_is_returned(statement, number):
    assert find_unsupported_number(statement, CODE) == number


@pytest.mark.parametrize(
    "code",
    ["0x" + "f" * 400, "9" * 400, "9 ** 9 ** 9 ** 9", "1024 ** 64 ** 64", "1 << 64 << 64 << 64", "10 * " * 400 + "1"],
)
def test_no_number_is_too_large(code):
    assert find_unsupported_number("It is 77 or 7777.", code) == "77"
