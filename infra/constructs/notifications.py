"""Where a job's runs say how they ended."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra.constructs.names import topic_name

__all__ = ["Notifications"]


class Notifications(Construct):
    """`topic` is the SNS topic `slipstream-<job>`; each address has to confirm its subscription once."""

    def __init__(self, scope: Construct, id: str, *, job: str, key: kms.IKey, addresses: Sequence[str]) -> None:
        super().__init__(scope, id)
        self.topic = sns.Topic(
            self,
            "Topic",
            topic_name=topic_name(job),
            display_name=f"Slipstream {job}",
            master_key=key,
            enforce_ssl=True,
        )
        for address in addresses:
            self.topic.add_subscription(subscriptions.EmailSubscription(address))
