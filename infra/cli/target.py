"""The account that a command talks to: AWS by the user's credentials, or the project's offline account.

Both look the same from here on: boto3 clients and the names that the stacks gave to things.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.cli.errors import EnvironmentNotReady, InputError
from infra.cli.lease import Lease
from infra.cli.output import say
from infra.cli.project import Project

if TYPE_CHECKING:
    from infra.offline.account import Account, AccountInfo

__all__ = ["Resources", "Target", "bring_up", "connect"]

STORAGE_STACK = "slipstream-storage"
DEFAULT_REGION = "us-east-1"


@dataclass(frozen=True, kw_only=True)
class Resources:
    """Bucket names, from the outputs of the storage stack."""

    data: str
    checkpoints: str
    artifacts: str


@dataclass(kw_only=True)
class Target:
    """Clients of one account and region."""

    offline: bool
    environment: dict[str, str] = field(default_factory=dict)
    """Variables that point any AWS client, the CDK CLI among them, at this account. Empty for AWS: the user's own."""

    @cached_property
    def _session(self) -> Any:
        import boto3  # 0.3 s: not for `--help`

        if not self.offline:
            return boto3.Session()
        return boto3.Session(
            aws_access_key_id=self.environment["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.environment["AWS_SECRET_ACCESS_KEY"],
            region_name=self.region,
        )

    @cached_property
    def region(self) -> str:
        if self.offline:
            return self.environment.get("AWS_DEFAULT_REGION", DEFAULT_REGION)
        region: str | None = self._session.region_name
        if region is None:
            raise EnvironmentNotReady(
                "no AWS region is set", hint="set AWS_REGION, or use --offline to run in the offline account"
            )
        return region

    @cached_property
    def account_id(self) -> str:
        return str(self.client("sts").get_caller_identity()["Account"])

    def client(self, service: str) -> Any:
        """A boto3 client, made once."""
        from botocore.config import Config

        if service not in self._clients:
            self._clients[service] = self._session.client(
                service,
                region_name=self.region,
                endpoint_url=self.environment.get("AWS_ENDPOINT_URL"),
                config=Config(retries={"mode": "standard", "max_attempts": 5}, connect_timeout=10, read_timeout=60),
            )
        return self._clients[service]

    @cached_property
    def _clients(self) -> dict[str, Any]:
        return {}

    @cached_property
    def resources(self) -> Resources:
        """Raises `EnvironmentNotReady` where the stacks are not deployed."""
        outputs = self.stack_outputs(STORAGE_STACK)
        if outputs is None:
            raise EnvironmentNotReady(
                f"the stack '{STORAGE_STACK}' is not deployed in {self.describe()}",
                hint=f"deploy first: slipstream deploy{' --offline' if self.offline else ''}",
            )
        return Resources(
            data=outputs["DataBucket"], checkpoints=outputs["CheckpointsBucket"], artifacts=outputs["ArtifactsBucket"]
        )

    def stack_outputs(self, stack: str) -> dict[str, str] | None:
        """A stack's outputs; None where it does not exist."""
        from botocore.exceptions import ClientError

        try:
            stacks = self.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
        except ClientError as error:
            if error.response["Error"]["Code"] == "ValidationError":
                return None
            raise
        return {output["OutputKey"]: output["OutputValue"] for output in stacks[0].get("Outputs", [])}

    def state_machine_arn(self, job: str) -> str:
        partition = {"cn": "aws-cn", "us-gov": "aws-us-gov"}.get(self.region.rsplit("-", 2)[0], "aws")
        return f"arn:{partition}:states:{self.region}:{self.account_id}:stateMachine:slipstream-{job}"

    def describe(self) -> str:
        return "the offline account" if self.offline else f"AWS account {self.account_id} in {self.region}"


@contextmanager
def connect(project: Project, *, offline: bool, faults: Path | None = None, keep_up: bool = False) -> Iterator[Target]:
    """The target of a command.

    Offline: the account of the project's folder that is up, or one brought up for the time of the command and of those
    that use it meanwhile (left up when `keep_up`, or when the person breaks off with Ctrl-C: that stops nothing).
    Raises `EnvironmentNotReady` for AWS without credentials, `InputError` for a broken fault file.
    """
    if not offline:
        if faults is not None:
            raise InputError("--faults needs --offline: faults are injected into the offline account only")
        yield _aws()
        return

    lease = Lease(project.state)
    try:
        account, info = bring_up(project, lease, faults=faults)
        if keep_up:
            lease.keep()
        try:
            yield Target(offline=True, environment=account.environment(info))
        except KeyboardInterrupt:
            lease.keep()
            raise
        finally:
            if lease.leave():
                _take_down(account)
    finally:
        lease.close()


def bring_up(project: Project, lease: Lease, *, faults: Path | None, port: int = 0) -> tuple[Account, AccountInfo]:
    """The project's offline account, up and with these faults.

    Raises `InputError` for a broken fault file, `EnvironmentNotReady` when it does not come up.
    """
    from infra.offline.account import Account, AccountError
    from infra.offline.faults import FaultFileError, load_faults

    try:
        rules = load_faults(faults) if faults is not None else None
    except FaultFileError as error:
        raise InputError(str(error)) from error
    account = Account(project.state)
    try:
        already_up = account.status() is not None
        if not already_up:
            say("starting the offline account", style="dim")
        info = account.up(faults=rules, port=port)
        if not already_up:
            lease.brought_up()
        elif rules is not None:
            account.set_faults(rules)
    except AccountError as error:
        raise EnvironmentNotReady(str(error)) from error
    if already_up and port not in (0, info.port):
        raise EnvironmentNotReady(
            f"the offline account is up at port {info.port} already", hint="stop it first: slipstream offline down"
        )
    return account, info


def _take_down(account: Account) -> None:
    """Nobody uses the account. A command that was killed may have left a run in it, which is not to be lost."""
    from infra.offline.account import AccountError

    with suppress(AccountError):
        if running := account.details()["jobs_running"]:
            say(f"the offline account stays up, for {', '.join(running)}; stop it: slipstream offline down")
            return
    account.down()


def _aws() -> Target:
    import boto3

    if boto3.Session().get_credentials() is None:
        raise EnvironmentNotReady(
            "no AWS credentials found",
            hint="sign in (aws sso login, or set AWS_PROFILE), or use --offline to run in the offline account",
        )
    return Target(offline=False)
