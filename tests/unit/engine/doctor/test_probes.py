import threading

from coderag.engine.doctor.probes import Finding, Probe, run_probes
from coderag.errors import ModelAuthenticationError, ModelUnavailableError


def fail():
    raise ModelAuthenticationError("the key was refused", hint="Check it.")


def test_what_fails_does_not_keep_the_next_from_running():
    checks = list(run_probes([Probe("a.x", fail), Probe("b.x", lambda: Finding("well"))]))
    assert [(check.name, check.status, check.message, check.hint, check.error) for check in checks] == [
        ("a.x", "failed", "the key was refused", "Check it.", "ModelAuthenticationError"),
        ("b.x", "ok", "well", "", ""),
    ]


def test_a_check_that_breaks_is_told_as_a_fault_of_our_own():
    check = next(run_probes([Probe("a.x", lambda: 1 / 0)]))
    assert (check.status, check.error) == ("failed", "InternalError")
    assert "ZeroDivisionError" in check.message


def test_what_takes_too_long_has_failed():
    never = threading.Event()
    probes = [
        Probe("a.x", lambda: Finding(str(never.wait(60))), timeout_s=0.05, timeout_error=ModelUnavailableError),
        Probe("b.x", lambda: Finding("well")),
    ]
    slow, other = run_probes(probes)
    never.set()
    assert (slow.status, slow.message, slow.error) == ("failed", "timed out after 0.05 s", "ModelUnavailableError")
    assert slow.ms >= 50
    assert other.status == "ok"


def test_what_cannot_say_anything_is_not_tried():
    tried = []

    def look():
        tried.append(1)
        return Finding("well")

    probes = [
        Probe("a.server", fail),
        Probe("a.model", look, needs=["a.server"]),
        Probe("a.request", look, needs=["a.model"]),
        Probe("b.request", look, needs=["b.server"]),  # which is not among those that are run
    ]
    statuses = [check.status for check in run_probes(probes)]
    assert statuses == ["failed", "skipped", "skipped", "ok"]
    assert tried == [1]


def test_offline_leaves_out_what_connects_and_what_needs_it():
    probes = [
        Probe("a.server", fail, connects=True),
        Probe("a.model", fail, needs=["a.server"]),
        Probe("b.x", lambda: Finding("well")),
    ]
    assert [check.status for check in run_probes(probes, offline=True)] == ["skipped", "skipped", "ok"]


def test_a_note_lets_the_next_go_on():
    probes = [Probe("a.x", lambda: Finding("hm", status="note")), Probe("a.y", lambda: Finding("well"), needs=["a.x"])]
    assert [check.status for check in run_probes(probes)] == ["note", "ok"]
