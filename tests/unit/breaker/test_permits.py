"""Permits at hand: taken without waiting, returned in every case."""

import pytest

from breaker.permits import PermitPool


def test_a_permit_comes_back_with_its_result_or_unused() -> None:
    pool = PermitPool()
    pool.add("m", 7, 3, 100.0)
    with pool.take("m", 7, 0.0) as permit:
        assert permit is not None
        permit.settle(False)
    with pool.take("m", 7, 0.0):
        pass
    with pytest.raises(RuntimeError), pool.take("m", 7, 0.0):
        raise RuntimeError("the call was cancelled")
    with pool.take("m", 7, 0.0) as permit:
        assert permit is None
    assert [(back.epoch, back.clean) for back in pool.returned] == [(7, False), (7, None), (7, None)]


def test_permits_of_another_epoch_or_an_ended_lease_are_void() -> None:
    pool = PermitPool()
    pool.add("m", 7, 2, 100.0)
    assert pool.unused("m", 7, 99.0) == 2
    assert pool.unused("m", 8, 0.0) == 0
    pool.add("m", 8, 2, 100.0)
    assert pool.unused("m", 8, 100.0) == 0


def test_at_shutdown_what_is_unused_goes_back() -> None:
    pool = PermitPool()
    pool.add("m", 7, 2, 100.0)
    pool.give_back_all()
    assert [back.clean for back in pool.returned] == [None, None]
    assert pool.unused("m", 7, 0.0) == 0
