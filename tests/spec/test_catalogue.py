"""The table of instance types, held against the service model and against itself."""

from __future__ import annotations

import re
from datetime import date

import pytest
from botocore.loaders import Loader

from infra.spec import InstanceType, catalogue
from infra.spec.catalogue import UnknownInstanceError

FAMILIES = ("m5", "c5", "g4dn", "g5", "g6", "p3", "p3dn", "p4d", "p4de", "p5")
INSTANCES = list(catalogue.instances.values())


def test_all_sizes_that_the_service_model_knows() -> None:
    model = Loader().load_service_model("sagemaker", "service-2")
    offered = model["shapes"]["TrainingInstanceType"]["enum"]
    assert {name for name in offered if name.split(".")[1] in FAMILIES} == set(catalogue.instances)


def test_which_types_processing_jobs_are_offered() -> None:
    model = Loader().load_service_model("sagemaker", "service-2")
    offered = model["shapes"]["ProcessingInstanceType"]["enum"]
    assert {i.name for i in INSTANCES if i.processing} == set(catalogue.instances) & set(offered)


@pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: instance.name)
def test_figures_are_plausible(instance: InstanceType) -> None:
    assert re.fullmatch(r"ml\.[a-z0-9]+\.[a-z0-9]+", instance.name)
    assert 2 <= instance.memory_gib / instance.vcpus <= 16
    assert 0.02 <= instance.usd_per_hour / instance.vcpus <= 0.5
    assert bool(instance.gpus) == bool(instance.gpu) == bool(instance.gpu_memory_gib)
    assert instance.device == ("gpu" if instance.gpus else "cpu")
    assert instance.network_gbps >= 10


@pytest.mark.parametrize(("family", "gpus"), sorted({(i.family, i.gpus) for i in INSTANCES}))
def test_more_costs_more(family: str, gpus: int) -> None:
    """Within a family and a number of GPUs: a swapped digit shows as a larger size that is cheaper."""
    members = [instance for instance in INSTANCES if (instance.family, instance.gpus) == (family, gpus)]
    prices = [instance.usd_per_hour for instance in sorted(members, key=lambda instance: instance.vcpus)]
    assert prices == sorted(set(prices))


def test_who_runs_which_library() -> None:
    assert {i.name for i in INSTANCES if i.smddp} == {
        "ml.p3.16xlarge",
        "ml.p3dn.24xlarge",
        "ml.p4d.24xlarge",
        "ml.p4de.24xlarge",
    }
    assert {i.family for i in INSTANCES if i.nvme} == {f"ml.{f}" for f in FAMILIES if f not in ("m5", "c5", "p3")}
    assert not any(i.smddp for i in INSTANCES if i.family == "ml.g5")


def test_prices() -> None:
    assert catalogue.price("ml.m5.2xlarge", "on_demand") == 0.461
    assert catalogue.price("ml.m5.2xlarge", "spot") == pytest.approx(0.461 * catalogue.spot_share)
    assert 0.1 <= catalogue.spot_share < 1


def test_figures_have_a_date_and_sources() -> None:
    assert date.fromisoformat(catalogue.about["date"]) > date(2025, 6, 1)
    assert catalogue.about["region"] == "us-east-1"
    assert all(catalogue.about[key] for key in ("prices", "hardware"))
    assert catalogue.about["spot_share"]["source"]


def test_an_unknown_type_is_told_its_neighbours() -> None:
    assert "ml.g5.3xlarge" not in catalogue
    with pytest.raises(UnknownInstanceError, match=r"'ml.g5.3xlarge' is not .* did you mean ml.g5.xlarge, ml.g5.2xl"):
        catalogue.instance("ml.g5.3xlarge")
