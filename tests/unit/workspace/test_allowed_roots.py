from pathlib import Path

import pytest

from coderag.errors import ForbiddenRootError, IngestionError
from coderag.workspace.allowed_roots import check_allowed


@pytest.fixture
def allowed(tmp_path):
    folder = tmp_path / "allowed"
    (folder / "repo" / "inner").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    return folder


@pytest.mark.parametrize("place", ["", "repo", "repo/inner", "repo/../repo"])
def test_an_allowed_folder_and_what_is_below_may_be_opened(allowed, place):
    assert check_allowed(allowed / place, [allowed]) == (allowed / place).resolve()


@pytest.mark.parametrize("place", ["..", "../outside", "../allowed-not", "../nowhere", "repo/../../outside"])
def test_what_lies_outside_may_not_be_opened_and_is_not_told_to_exist(allowed, place):
    with pytest.raises(ForbiddenRootError, match="outside the allowed folders") as caught:
        check_allowed(allowed / place, [allowed])
    assert "--allow-root" in caught.value.hint


def test_a_link_does_not_lead_out(allowed):
    (allowed / "link").symlink_to(allowed.parent / "outside")
    with pytest.raises(ForbiddenRootError):
        check_allowed(allowed / "link", [allowed])


def test_a_link_to_an_allowed_folder_is_followed_on_both_sides(allowed, tmp_path):
    (tmp_path / "link").symlink_to(allowed)
    assert check_allowed(tmp_path / "link" / "repo", [allowed]) == (allowed / "repo").resolve()
    assert check_allowed(allowed / "repo", [tmp_path / "link"]) == (allowed / "repo").resolve()


def test_anything_goes_where_nothing_is_said(allowed):
    assert check_allowed(allowed, []) == allowed.resolve()


@pytest.mark.parametrize("place", ["/", "~", "~/.."])
def test_home_and_what_holds_it_are_refused_even_if_allowed(home, place):
    with pytest.raises(IngestionError, match="never indexed"):
        check_allowed(Path(place), [Path("/")])


@pytest.mark.parametrize("place", ["a\0b", "~nobody-of-that-name/x"])
def test_what_is_no_path_is_refused(allowed, place):
    with pytest.raises(IngestionError):
        check_allowed(Path(place), [allowed])
    with pytest.raises(IngestionError):
        check_allowed(Path(place), [])
