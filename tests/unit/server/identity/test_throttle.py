"""Slowing of guesses by address and by key."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select

from coderag.errors import AuthenticationError, QuotaExceededError
from coderag.server.identity import throttle as throttle_module
from coderag.server.identity.throttle import FREE_FAILURES, MAX_DELAY_S, SignInThrottle, compute_delay
from coderag.server.storage.models import SignInFailures
from tests.support.identity_world import IdentityWorld


def fail(throttle: SignInThrottle, address: str, prefix: str = "") -> None:
    with pytest.raises(AuthenticationError), throttle.guard(address, prefix):
        raise AuthenticationError("wrong")


def succeed(throttle: SignInThrottle, address: str, prefix: str = "") -> None:
    with throttle.guard(address, prefix):
        pass


def is_refused(throttle: SignInThrottle, address: str, prefix: str = "") -> bool:
    try:
        succeed(throttle, address, prefix)
    except QuotaExceededError as error:
        assert error.wait_s > 0
        return True
    return False


def test_failures_slow_down_an_address_and_time_heals(world: IdentityWorld) -> None:
    for _ in range(FREE_FAILURES):
        fail(world.throttle, "192.0.2.1")
    assert is_refused(world.throttle, "192.0.2.1")
    assert not is_refused(world.throttle, "192.0.2.2")
    world.clock.advance(seconds=1)
    fail(world.throttle, "192.0.2.1")
    world.clock.advance(seconds=1)
    assert is_refused(world.throttle, "192.0.2.1")
    world.clock.advance(seconds=1)
    assert not is_refused(world.throttle, "192.0.2.1")
    world.clock.advance(seconds=MAX_DELAY_S)
    for _ in range(FREE_FAILURES - 1):
        fail(world.throttle, "192.0.2.1")
    assert not is_refused(world.throttle, "192.0.2.1")


def test_guesses_at_one_key_from_many_addresses_are_slowed(world: IdentityWorld) -> None:
    for number in range(FREE_FAILURES):
        fail(world.throttle, f"192.0.2.{number}", "0123456789ab")
    assert is_refused(world.throttle, "198.51.100.1", "0123456789ab")
    assert not is_refused(world.throttle, "198.51.100.1", "ba9876543210")


def test_guesses_do_not_lock_out_the_user_of_a_key(world: IdentityWorld) -> None:
    succeed(world.throttle, "192.0.2.1", "0123456789ab")
    for number in range(FREE_FAILURES):
        fail(world.throttle, f"198.51.100.{number}", "0123456789ab")
        fail(world.throttle, "192.0.2.1", "ba9876543210")
    assert not is_refused(world.throttle, "192.0.2.1", "0123456789ab")
    for _ in range(FREE_FAILURES):  # whoever shares the address has no more guesses than others
        fail(world.throttle, "192.0.2.1", "0123456789ab")
    assert is_refused(world.throttle, "192.0.2.1", "0123456789ab")


def test_addresses_of_one_ipv6_network_count_together(world: IdentityWorld) -> None:
    for number in range(FREE_FAILURES):
        fail(world.throttle, f"2001:db8::{number:x}")
    assert is_refused(world.throttle, "2001:db8::ffff")
    assert not is_refused(world.throttle, "2001:db8:0:1::1")
    for _ in range(FREE_FAILURES):
        fail(world.throttle, "::ffff:192.0.2.9")
    assert is_refused(world.throttle, "192.0.2.9")


def test_failures_of_another_process_count(world: IdentityWorld) -> None:
    sibling = SignInThrottle(world.database, world.clock)
    for _ in range(FREE_FAILURES // 2):
        fail(world.throttle, "192.0.2.1")
        fail(sibling, "192.0.2.1")
    assert is_refused(world.throttle, "192.0.2.1")
    assert is_refused(sibling, "192.0.2.1")


def test_table_is_bounded(world: IdentityWorld, monkeypatch) -> None:
    monkeypatch.setattr(throttle_module, "MAX_SUBJECTS", 5)
    for number in range(20):
        fail(world.throttle, f"192.0.2.{number}", f"{number:012x}")
        world.clock.advance(seconds=1)
    with world.database.read() as session:
        assert session.scalar(select(func.count()).select_from(SignInFailures)) == 5
        assert session.get(SignInFailures, "address 192.0.2.19") is not None
    world.clock.advance(seconds=MAX_DELAY_S + 1)
    fail(world.throttle, "198.51.100.1")
    with world.database.read() as session:
        assert session.scalar(select(func.count()).select_from(SignInFailures)) == 1


@given(st.lists(st.integers(0, 10**9), min_size=2))
def test_delay_grows_up_to_a_maximum(counts: list[int]) -> None:
    delays = [compute_delay(count) for count in sorted(counts)]
    assert all(first <= second for first, second in pairwise(delays))
    assert 0 <= delays[0] <= delays[-1] <= MAX_DELAY_S
