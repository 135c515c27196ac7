"""Instance types that SageMaker training offers, as data: `instances.json`, with date and sources of its figures."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .sections import Market

__all__ = ["Catalogue", "InstanceType", "UnknownInstanceError", "catalogue"]


class UnknownInstanceError(KeyError):
    """Not in the catalogue; the message names the nearest ones."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, kw_only=True)
class InstanceType:
    """One instance type, per instance unless it says otherwise."""

    name: str
    vcpus: int
    memory_gib: float
    network_gbps: float
    """As AWS prints it; with `network_burst` it is the "up to" figure, borne only for minutes."""
    usd_per_hour: float
    """SageMaker training on demand, us-east-1."""
    gpus: int = 0
    gpu: str | None = None
    gpu_memory_gib: float = 0
    """Of one GPU."""
    nvme_gb: int = 0
    """Local NVMe storage in place of an EBS volume: `VolumeKmsKeyId` is refused then."""
    network_burst: bool = False
    efa: bool = False
    """Elastic Fabric Adapter in SageMaker training."""
    smddp: bool = False
    """SageMaker's distributed data parallel library runs on it."""
    smp: bool = False
    """SageMaker's model parallel library v2 runs on it."""
    processing: bool = True
    """Offered to processing jobs as well."""

    @property
    def family(self) -> str:
        """`ml.g5` of `ml.g5.2xlarge`."""
        return self.name.rpartition(".")[0]

    @property
    def nvme(self) -> bool:
        return self.nvme_gb > 0

    @property
    def device(self) -> str:
        """Which container image it takes: `cpu` or `gpu`."""
        return "gpu" if self.gpus else "cpu"


@dataclass(frozen=True)
class Catalogue:
    """All instance types, and what is known about prices."""

    instances: Mapping[str, InstanceType]
    spot_share: float
    """Spot price as a share of the on-demand price; an assumption, since SageMaker publishes no Spot prices."""
    about: Mapping[str, Any]
    """Date, region and sources of the figures, for reports."""

    def __contains__(self, name: object) -> bool:
        return name in self.instances

    def instance(self, name: str) -> InstanceType:
        """Raises `UnknownInstanceError`, which suggests names that look alike."""
        try:
            return self.instances[name]
        except KeyError:
            raise UnknownInstanceError(self._unknown(name)) from None

    def price(self, name: str, market: Market) -> float:
        """USD per hour of one instance, running: for Spot an estimate, `spot_share` of the on-demand price."""
        price = self.instance(name).usd_per_hour
        return price if market == "on_demand" else price * self.spot_share

    def _unknown(self, name: str) -> str:
        # Sizes of the family if there is such a family: nobody who wrote ml.g5.3xlarge wants ml.g6.
        family = [known for known in self.instances if known.rpartition(".")[0] == name.rpartition(".")[0]]
        close = family or difflib.get_close_matches(name, self.instances, n=3)
        hint = f"; did you mean {', '.join(close)}?" if close else "; `infra/spec/instances.json` lists those known"
        return f"{name!r} is not an instance type that SageMaker training offers here{hint}"


def _load(path: Path) -> Catalogue:
    table = json.loads(path.read_text(encoding="utf-8"))
    instances = {name: InstanceType(name=name, **figures) for name, figures in table["instances"].items()}
    return Catalogue(instances, table["about"]["spot_share"]["value"], table["about"])


catalogue = _load(Path(__file__).with_name("instances.json"))
