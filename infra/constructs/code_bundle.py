"""A job's code as a CDK asset."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import Aws, Stage
from aws_cdk import aws_s3_assets as assets
from constructs import Construct

from infra.spec import Job
from infra.workflow import write_bundle

__all__ = ["CodeBundle"]


class CodeBundle(Construct):
    """One zip per job, uploaded by `cdk deploy` under its hash."""

    def __init__(self, scope: Construct, id: str, *, job: Job, project: Path) -> None:
        super().__init__(scope, id)
        stage = Stage.of(self)
        assert stage is not None, "a construct belongs to an app"
        bundle = write_bundle(
            Path(stage.outdir) / "bundles" / f"{job.name}.zip",
            project=project,
            source_dir=job.source_dir,
            recipe=job.data.recipe() or {},
        )
        asset = assets.Asset(self, "Asset", path=str(bundle))
        self.uri = asset.s3_object_url
        """`s3://` URI of the zip."""
        self.arn = f"arn:{Aws.PARTITION}:s3:::{asset.s3_bucket_name}/{asset.s3_object_key}"
        """ARN of the one object."""
        self.name = asset.s3_object_key.rpartition("/")[2]
        """File name, as the container sees it."""
