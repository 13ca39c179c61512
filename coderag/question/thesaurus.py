"""Words that programmers use for the same thing. Only widening uses them: a question that finds enough is left alone."""

from functools import cache

from coderag.text.tokenizer import stem

_GROUPS = (
    "auth authentication authenticate login signin credential password session",
    "authorization authorize permission access role privilege acl",
    "delete remove erase drop destroy unlink purge",
    "create make build new construct instantiate",
    "update modify change edit patch set",
    "get fetch read load retrieve obtain",
    "save store persist write dump",
    "send emit dispatch publish post transmit",
    "receive consume subscribe listen handle",
    "error exception failure fault panic",
    "retry backoff attempt reconnect",
    "config configuration setting option preference parameter",
    "log logger logging trace audit",
    "cache memoize buffer store",
    "parse decode deserialize unmarshal read",
    "serialize encode marshal format dump",
    "validate check verify assert ensure",
    "test spec mock fixture assertion",
    "async asynchronous await concurrent coroutine future promise",
    "thread worker pool executor task job",
    "lock mutex semaphore synchronize latch",
    "queue channel stream buffer pipe",
    "database db sql storage repository",
    "request call query message",
    "response reply result answer",
    "route router url path endpoint",
    "middleware filter interceptor hook plugin",
    "render draw display paint template view",
    "user account member profile",
    "hash digest checksum fingerprint",
    "encrypt cipher crypto secure",
    "connect connection socket link session",
    "timeout deadline expire ttl",
    "limit throttle quota rate",
    "copy clone duplicate",
    "compare equal diff match",
    "sort order rank",
    "search find lookup query",
    "convert transform map cast translate",
    "start begin launch boot init initialize setup",
    "stop end shutdown close terminate kill teardown",
    "directory folder path",
    "argument arg parameter option flag",
    "compress zip gzip deflate archive",
    "schedule cron timer interval",
    "event signal notification callback listener",
)


@cache
def _by_stem() -> dict[str, frozenset[str]]:
    related: dict[str, frozenset[str]] = {}
    for group in _GROUPS:
        words = frozenset(group.split())
        for word in words:
            related[stem(word)] = related.get(stem(word), frozenset()) | (words - {word})
    return related


def related_words(term: str) -> list[str]:
    """Return words of the trade near to a stemmed term, in alphabetical order."""
    return sorted(_by_stem().get(term, ()))
