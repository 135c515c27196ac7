"""Several commands on one offline account: it goes down with the last one, and never under somebody's feet."""

from __future__ import annotations

import threading
from pathlib import Path

from infra.cli.lease import Lease


def test_the_command_that_brought_it_up_takes_it_down(tmp_path: Path) -> None:
    lease = Lease(tmp_path)
    lease.brought_up()
    assert lease.leave()


def test_an_account_that_was_asked_for_stays(tmp_path: Path) -> None:
    first = Lease(tmp_path)
    first.brought_up()
    second = Lease(tmp_path)
    second.keep()
    second.close()
    assert not first.leave()


def test_the_last_one_to_leave_takes_it_down_whoever_brought_it_up(tmp_path: Path) -> None:
    first = Lease(tmp_path)
    first.brought_up()
    second = Lease(tmp_path)
    assert not first.leave()
    first.close()
    assert second.leave()


def leave(lease: Lease, acted: list[bool]) -> None:
    acted.append(lease.leave())


def test_of_several_that_leave_at_once_one_acts(tmp_path: Path) -> None:
    for _ in range(50):
        leases = [Lease(tmp_path) for _ in range(4)]
        leases[0].brought_up()
        acted: list[bool] = []
        threads = [threading.Thread(target=leave, args=(lease, acted)) for lease in leases]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert acted.count(True) == 1
        for lease in leases:
            lease.close()


def test_a_newcomer_waits_while_the_account_goes_down(tmp_path: Path) -> None:
    leaving = Lease(tmp_path)
    leaving.brought_up()
    assert leaving.leave()
    arrived = threading.Event()
    newcomer = threading.Thread(target=lambda: (Lease(tmp_path), arrived.set()))
    newcomer.start()
    assert not arrived.wait(0.2)
    leaving.close()
    assert arrived.wait(10)
    newcomer.join()
