"""The job that ships."""

from __future__ import annotations

from pathlib import Path

from infra.spec import check_file, load_job
from infra.spec.examples import EXAMPLES, example_recipe
from training.config import PrepareConfig

JOBS = Path(__file__).parents[2] / "jobs"


def test_it_can_be_deployed_as_it_is() -> None:
    job, problems = check_file(JOBS / "flights.yaml")
    assert [str(problem) for problem in problems] == []
    assert job is not None
    assert job.unavailable() == []


def test_its_ladder_ends_on_demand() -> None:
    pools = load_job(JOBS / "flights.yaml").compute.pools
    assert [(pool.instance, pool.market) for pool in pools] == [
        ("ml.m5.2xlarge", "spot"),
        ("ml.c5.2xlarge", "spot"),
        ("ml.m5.2xlarge", "on_demand"),
    ]


def test_it_spells_out_the_recipe_that_is_the_examples_default() -> None:
    prepare = load_job(JOBS / "flights.yaml").data.prepare
    assert PrepareConfig.from_mapping(prepare.recipe) == PrepareConfig.from_mapping(example_recipe("nycflights13"))


def test_every_example_has_a_sound_recipe() -> None:
    assert EXAMPLES == ("nycflights13",)
    for example in EXAMPLES:
        assert PrepareConfig.check(example_recipe(example)) == []
