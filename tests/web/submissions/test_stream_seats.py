"""Seats for event streams: taken on request, and shared fairly between users and addresses."""

import time

import pytest


@pytest.fixture
def hub():
    from leaderboard.web.stream import Hub

    return Hub()


def test_seat_is_taken_when_a_stream_is_asked_for(hub) -> None:
    from leaderboard.web.stream import MAX_STREAMS_A_USER

    burst = [hub.reserve(1, 7, f"192.0.2.{number}") for number in range(MAX_STREAMS_A_USER + 5)]
    assert [seat is None for seat in burst] == [False] * MAX_STREAMS_A_USER + [True] * 5


def test_seats_of_an_address_are_limited(hub) -> None:
    from leaderboard.web.stream import MAX_STREAMS_AN_ADDRESS

    seats = [hub.reserve(1, number, "192.0.2.1") for number in range(MAX_STREAMS_AN_ADDRESS + 1)]
    assert seats[-1] is None
    assert None not in seats[:-1]
    assert hub.reserve(1, 999, "192.0.2.2")


def fill(hub, addresses: int, users: int) -> list:
    from leaderboard.web.stream import MAX_STREAMS

    seats = [hub.reserve(1, number % users, f"10.0.0.{number % addresses}") for number in range(MAX_STREAMS)]
    assert None not in seats
    return seats


@pytest.mark.parametrize("addresses", [5, 250, 500])
def test_seat_of_a_newcomer_comes_from_the_heaviest_holder(hub, addresses: int) -> None:
    """The hub holds 25 accounts with 20 streams each, from few addresses or from many."""
    seats = fill(hub, addresses, 25)
    newcomers = [hub.reserve(2, 1000 + number, f"192.0.2.{number}") for number in range(100)]
    assert None not in newcomers
    lost = [seat for seat in seats if seat.is_lost]
    assert len(lost) == 100
    assert all(seat.wake.is_set() for seat in lost), "their streams end"
    assert not any(seat.is_lost for seat in newcomers)


def test_seat_is_refused_to_who_holds_as_many_as_anybody(hub) -> None:
    fill(hub, 500, 500)
    assert hub.reserve(1, 1000, "192.0.2.1") is None


def test_seat_of_a_stream_that_never_began_is_free_again(hub, monkeypatch) -> None:
    from leaderboard.web import stream

    seats = [hub.reserve(1, 7, "192.0.2.1") for _ in range(stream.MAX_STREAMS_A_USER)]
    seats[0].is_read = True
    later = time.monotonic() + stream.UNREAD_S + 1
    monkeypatch.setattr(stream.time, "monotonic", lambda: later)
    assert hub.reserve(1, 7, "192.0.2.1")
    monkeypatch.undo()
    hub.leave(seats[1])
    assert len(hub._seats) == 2, "one that was read, and the new one; leaving twice is harmless"


def test_streams_are_opened_so_often_a_minute(stage, tool) -> None:
    from leaderboard.web import limits

    submission, client = stage.submit(), tool(stage.ada)
    for _ in range(limits.STREAM_USER.most):
        limits.floods.take((limits.STREAM_USER, str(stage.ada.pk)))
    answer = client.get(f"/api/v1/submissions/{submission.pk}/events")
    assert (answer.status_code, "Retry-After" in answer.headers) == (429, True)
