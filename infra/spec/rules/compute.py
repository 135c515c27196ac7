"""Instance types, markets and how ranks are started."""

from __future__ import annotations

from collections.abc import Iterator

from infra.spec.catalogue import UnknownInstanceError, catalogue
from infra.spec.images import image_table
from infra.spec.rules.registry import Finding, error, rule, warning
from infra.spec.sections import Compute, Data, Framework, Limits

__all__ = ["known_pools"]

_SMDDP_LAST = (2, 4)
"""SMDDP 2.5.0, the last, was built for PyTorch 2.4.1."""
_SMDDP_LAST_ON_P3 = (2, 0)


def known_pools(compute: Compute) -> Iterator[tuple[int, str]]:
    """Number and instance of the pools that the catalogue knows; the others have their own finding."""
    for number, pool in enumerate(compute.pools):
        if pool.instance in catalogue:
            yield number, pool.instance


def _version(framework: Framework) -> tuple[int, ...]:
    return tuple(int(part) for part in framework.version.split(".")[:2])


@rule("pool-instance", source="API_ResourceConfig InstanceType")
def instances_exist(compute: Compute) -> Iterator[Finding]:
    """SageMaker training offers some of EC2's instance types, in some sizes; prices are needed for budgets."""
    for number, pool in enumerate(compute.pools):
        try:
            catalogue.instance(pool.instance)
        except UnknownInstanceError as unknown:
            yield error("compute", "pools", number, "instance", message=str(unknown))


@rule("prepare-instance", source="API_ProcessingClusterConfig InstanceType")
def prepare_instance_exists(data: Data) -> Iterator[Finding]:
    """Processing jobs are not offered the largest GPU types."""
    path = ("data", "prepare", "instance")
    try:
        if not catalogue.instance(data.prepare.instance).processing:
            yield error(
                *path, message=f"{data.prepare.instance!r} is not offered to processing jobs; use ml.m5 or ml.c5"
            )
    except UnknownInstanceError as unknown:
        yield error(*path, message=str(unknown))


@rule("pool-once", source="slipstream")
def pools_differ(compute: Compute) -> Iterator[Finding]:
    """The same rung twice is tried twice in a row, which the ladder does anyway."""
    seen: dict[object, int] = {}
    for number, pool in enumerate(compute.pools):
        first = seen.setdefault(pool, number)
        if first != number:
            yield error("compute", "pools", number, message=f"is the same as pools[{first}]; leave one of them out")


@rule("pools-one-device", source="slipstream")
def pools_share_a_device(compute: Compute) -> Iterator[Finding]:
    """Training begun on a GPU and continued on a CPU rounds differently, and is slower by orders of magnitude."""
    devices = {number: catalogue.instance(name).device for number, name in known_pools(compute)}
    for number, device in devices.items():
        if device != devices[min(devices)]:
            yield warning(
                "compute",
                "pools",
                number,
                "instance",
                message=f"has another device ({device}) than the first pool: results and speed will differ",
            )


@rule("image-exists", source="SageMaker SDK image_uris")
def framework_has_an_image(framework: Framework) -> Iterator[Finding]:
    """AWS publishes containers for certain framework versions only."""
    known = image_table().versions(framework.name)
    if framework.version not in known:
        yield error(
            "framework",
            "version",
            message=f"{framework.version!r} has no AWS {framework.name} training container; use one of "
            f"{', '.join(known)} (in quotes)",
        )


@rule("volta-dropped", source="PyTorch 2.8 release notes: CUDA 12.8 and later builds are without Volta")
def p3_needs_an_older_framework(compute: Compute, framework: Framework) -> Iterator[Finding]:
    """ml.p3 has V100 GPUs (Volta), for which newer builds carry no kernels."""
    if framework.version in image_table().versions(framework.name) and _version(framework) >= (2, 8):
        for number, name in known_pools(compute):
            if catalogue.instance(name).gpu == "V100":
                yield warning(
                    "compute",
                    "pools",
                    number,
                    "instance",
                    message=f"{name!r} has V100 GPUs, which PyTorch {framework.version} no longer supports; "
                    "use version 2.7 or older, or ml.g5",
                )


@rule("smddp-instance", source="SageMaker developer guide, distributed data parallelism: supported instance types")
def smddp_instances(compute: Compute) -> Iterator[Finding]:
    """SMDDP's AllReduce is written for the network of a few large types; ml.g5 was never among them."""
    if compute.distribution != "smddp":
        return
    able = ", ".join(name for name, instance in catalogue.instances.items() if instance.smddp)
    for number, name in known_pools(compute):
        if not catalogue.instance(name).smddp:
            yield error(
                "compute",
                "pools",
                number,
                "instance",
                message=f"{name!r} cannot run distribution 'smddp': SMDDP needs {able}; use 'torchrun'",
            )


@rule("smddp-framework", source="SageMaker developer guide, distributed data parallelism: supported frameworks")
def smddp_frameworks(compute: Compute, framework: Framework) -> Iterator[Finding]:
    """The library is built per PyTorch version, and AWS stopped: at 2.4 in general, at 2.0 for ml.p3."""
    if compute.distribution != "smddp" or framework.version not in image_table().versions(framework.name):
        return
    for number, name in known_pools(compute):
        instance = catalogue.instance(name)
        last = _SMDDP_LAST_ON_P3 if instance.gpu == "V100" else _SMDDP_LAST
        if instance.smddp and _version(framework) > last:
            yield error(
                "framework",
                "version",
                message=f"'{framework.version}' has no SMDDP on {name} (pools[{number}]): its last version there is "
                f"PyTorch {last[0]}.{last[1]}; use that, or distribution 'torchrun'",
            )


@rule("smp-instance", source="SageMaker developer guide, model parallelism library v2: supported instance types")
def smp_instances(compute: Compute) -> Iterator[Finding]:
    """SageMaker's model parallel library v2 supports p4d, p4de and p5 alone."""
    if compute.distribution == "smp":
        for number, name in known_pools(compute):
            if not catalogue.instance(name).smp:
                yield error(
                    "compute",
                    "pools",
                    number,
                    "instance",
                    message=f"{name!r} cannot run distribution 'smp': it needs ml.p4d.24xlarge, ml.p4de.24xlarge or "
                    "ml.p5.48xlarge; use 'torchrun' (FSDP)",
                )


@rule("hosts-need-distribution", source="slipstream")
def hosts_work_together(compute: Compute) -> Iterator[Finding]:
    """Several hosts that do not talk each train the same model, and each is paid for."""
    if compute.distribution == "none" and compute.instance_count > 1:
        yield error(
            "compute",
            "distribution",
            message=f"'none' with instance_count {compute.instance_count} trains {compute.instance_count} unconnected "
            "copies; use 'auto' or 'torchrun', or one instance",
        )


@rule("deadline-needs-on-demand", source="slipstream")
def a_deadline_needs_on_demand(compute: Compute, limits: Limits) -> Iterator[Finding]:
    """Spot capacity is nobody's promise, so a ladder without an on-demand rung cannot promise a finish time."""
    timed = [key for key in ("deadline", "deadline_at") if getattr(limits, key) is not None]
    if timed and all(pool.market == "spot" for pool in compute.pools):
        yield warning(
            "compute",
            "pools",
            message=f"are all spot: limits.{timed[0]} cannot be promised; add a pool with market on_demand",
        )
