"""Up, down, and everything that can go wrong between."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from infra.offline.account import Account, AccountError, environment
from infra.offline.faults import Fault

from .conftest import FAST, Clients, clients_of
from .sagemaker.requests import training_request
from .sagemaker.test_host import DAEMON, alive
from .waiting import until

ROOT = Path(__file__).parents[2]


def run_code(client: Clients, script: str, name: str = "flights-1a2b3c4d-01") -> None:
    """Start a training job that runs `script`."""
    s3 = client("s3")
    s3.create_bucket(Bucket="bucket")
    s3.put_object(Bucket="bucket", Key="code/main.py", Body=script.encode())
    client("sagemaker").create_training_job(**training_request(name))


def test_up_is_idempotent_and_down_says_whether_it_was_up(account: Account) -> None:
    assert account.status() is None
    assert account.down() is False
    info = account.up()
    assert account.up() == info
    assert Account(account.folder).status() == info
    assert json.loads((account.folder / "account.json").read_text())["endpoint_url"] == info.endpoint_url
    assert account.down() is True
    assert account.status() is None
    assert not alive(info.pid)


def test_two_commands_at_once_bring_one_account_up(account: Account) -> None:
    found = []
    threads = [threading.Thread(target=lambda: found.append(Account(account.folder).up())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({info.pid for info in found}) == 1


def test_two_accounts_side_by_side(account: Account, tmp_path: Path) -> None:
    other = Account(tmp_path / "other")
    try:
        first, second = account.up(), other.up()
        clients_of(account, first)("s3").create_bucket(Bucket="mine")
        assert clients_of(other, second)("s3").list_buckets()["Buckets"] == []
    finally:
        other.down()


def test_the_port_is_remembered(account: Account) -> None:
    port = account.up().port
    account.down()
    assert account.up().port == port


def test_a_port_that_is_taken(account: Account) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(AccountError, match=f"port {port} on 127.0.0.1 is taken"):
            account.up(port=port)
    assert account.status() is None
    assert account.up().port != 0


def test_it_listens_on_loopback_only(account: Account) -> None:
    port = account.up().port
    listeners = [
        line.split()[1]
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        if line.split()[3] == "0A" and int(line.split()[1].rpartition(":")[2], 16) == port
    ]
    assert listeners == [f"0100007F:{port:04X}"]


def test_no_credentials_of_the_user_get_in(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "a-profile-that-does-not-exist")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    info = account.up()
    assert "localhost" in environment(info)["NO_PROXY"]
    assert account.details()["pid"] == info.pid


def test_variables_suffice_for_any_client(account: Account) -> None:
    info = account.up()
    script = (
        "import boto3\n"
        "boto3.client('s3').create_bucket(Bucket='made')\n"
        "print(boto3.client('sts').get_caller_identity()['Account'])\n"
    )
    variables = {"PATH": os.environ["PATH"], **account.environment(info)}
    done = subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "123456789012"
    assert [bucket["Name"] for bucket in clients_of(account, info)("s3").list_buckets()["Buckets"]] == ["made"]


def test_faults_can_be_given_replaced_and_read(account: Account) -> None:
    account.up(faults=[Fault(do="quota")])
    assert account.details()["faults_left"] == [{"do": "quota", "job": "*", "times": 1}]
    account.set_faults([Fault(do="kill", at_step=3, times=2)])
    assert account.details()["faults_left"] == [{"do": "kill", "job": "*", "at_step": 3, "times": 2}]
    account.down()
    with pytest.raises(AccountError, match="not up"):
        account.set_faults([])


def test_down_ends_jobs_and_their_daemons(account: Account, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    client = clients_of(account, account.up(settings=FAST))
    run_code(client, DAEMON.replace("sys.argv[1]", repr(str(pid))) + "\ntime.sleep(600)\n")
    until(lambda: pid.exists() and pid.read_text())
    account.down()
    assert not alive(int(pid.read_text()))


def test_after_a_kill_nothing_is_left_and_the_next_life_knows(account: Account, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    info = account.up(settings=FAST)
    run_code(clients_of(account, info), DAEMON.replace("sys.argv[1]", repr(str(pid))) + "\ntime.sleep(600)\n")
    until(lambda: pid.exists() and pid.read_text())
    os.kill(info.pid, signal.SIGKILL)
    until(lambda: not alive(int(pid.read_text())))
    assert until(lambda: account.status() is None)
    client = clients_of(account, account.up())
    job = client("sagemaker").describe_training_job(TrainingJobName="flights-1a2b3c4d-01")
    assert job["TrainingJobStatus"] == "Failed"
    assert "The offline account was stopped while the job ran" in job["FailureReason"]
    assert client("s3").get_object(Bucket="bucket", Key="code/main.py")["Body"].read().startswith(b"\nimport os")


def test_the_account_s_own_route_takes_it_down(account: Account) -> None:
    info = account.up()
    account._admin("down", {})
    until(lambda: account.status() is None)
    assert not account.down()
    until(lambda: account._process is None or account._process.poll() is not None)
    assert not alive(info.pid)
