"""Templates of messages: values filled in at run time do not hide the literal that writes a message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.text.message_templates import iter_templates

MESSAGE = "timeout of 30 s exceeded for host 'db-1.example.org'"


def _match(code, message):
    matches = [match for template in iter_templates(code) if (match := template.match(message))]
    return max(matches, key=lambda match: (match.share, match.word_count), default=None)


@pytest.mark.parametrize(
    "code",
    [
        'raise Timeout(f"timeout of {limit:.0f} s exceeded for host {host!r}")',
        'raise Timeout("timeout of %(limit)d s exceeded for host %(host)r" % values)',
        "raise Timeout(\"timeout of {} s exceeded for host '{}'\".format(limit, host))",
        'raise Timeout(\n    f"timeout of {limit} s "\n    f"exceeded for host {host!r}"\n)',
        'return fmt.Errorf("timeout of %d s exceeded for host %q", limit, host)',
        'return Err(format!("timeout of {limit} s exceeded for host {host:?}"));',
        "throw new TimeoutError(`timeout of ${limit} s exceeded for host '${name({host})}'`);",
        'throw new Error("timeout of " + limit + " s exceeded for host \'" + host + "\'");',
        'raise Timeout, "timeout of #{limit} s exceeded for host #{host.inspect}"',
        "throw Failure(\"timeout of \\(limit) s exceeded for host '\\(host.name())'\")",
        "throw new Exception(\"timeout of {$limit} s exceeded for host '$this->host'\");",
        "throw IOException(\"timeout of $limit s exceeded for host '${host.name}'\")",
        "throw new Timeout($\"timeout of {limit} s exceeded for host '{host}'\");",
        'snprintf(text, size, "timeout of %" PRIu64 " s exceeded for host \'%s\'", limit, host);',
        "MessageFormat.format(\"timeout of {0} s exceeded for host ''{1}''\", limit, host)".replace("''", "'"),
    ],
)
def test_a_message_matches_the_literal_of_any_language_that_writes_it(code):
    match = _match(code, MESSAGE)
    assert match is not None
    assert match.share == 1.0
    assert match.starts


def test_a_value_at_the_end_belongs_to_the_message():
    match = _match('log.error("could not open file %s", path)', "could not open file /var/lib/shop/orders.db")
    assert match is not None
    assert match.share == 1.0


def test_a_unit_behind_a_value_is_part_of_the_text():
    match = _match("`Timeout awaiting '${event}' for ${limit}ms`", "Timeout awaiting 'request' for 500ms")
    assert match is not None
    assert match.share == 1.0


def test_the_beginning_of_a_message_in_several_parts_starts_it():
    match = _match('let prefix = "HTTP status client error";', "HTTP status client error (404) for url (http://a.b)")
    assert match is not None
    assert match.starts
    assert match.share < 0.6


@pytest.mark.parametrize(
    "code",
    [
        'log("%s: %s", name, text)',
        'log("{}")',
        'log("timeout of %d min exceeded for host %s", limit, host)',
        'log("host %s: timeout of %d s exceeded", host, limit)',
    ],
)
def test_other_texts_and_texts_of_values_alone_do_not_match(code):
    assert _match(code, MESSAGE) is None


_WORDS = st.lists(st.text("abcdefghij", min_size=4, max_size=9), min_size=3, max_size=6)
_VALUES = st.text("xyz0123456789-_./@", min_size=1, max_size=20)


@given(
    words=_WORDS, value=_VALUES, position=st.integers(1, 5), placeholder=st.sampled_from(["%s", "{}", "${x}", "#{x}"])
)
def test_any_value_at_any_gap_is_matched(words, value, position, placeholder):
    position = min(position, len(words))

    def fill(gap):
        return " ".join([*words[:position], gap, *words[position:]])

    match = _match(f'"{fill(placeholder)}"', fill(value))
    assert match is not None
    assert match.word_count == len(words)


@given(code=st.text("\"'`\\{}$#%()sab \n", max_size=80), message=st.text("\"'{}%sab :", max_size=40))
def test_broken_literals_never_fail(code, message):
    for template in iter_templates(code):
        template.match(message)
