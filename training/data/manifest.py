"""MANIFEST.json of prepared data: the shards, and what was learned from the training rows to read them by.

Shards hold values as they were; scaling, imputing and numbering happen on reading, by the statistics here. So a
changed row changes one shard and this file, not every shard.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["LABEL", "MANIFEST", "CategoricalFeature", "DataError", "Manifest", "NumericFeature", "Shard"]

MANIFEST = "MANIFEST.json"
LABEL = "label"
"""Column of 0 and 1 in every shard."""
FORMAT = 1


class DataError(ValueError):
    """The data are not what the manifest says, or not what the task needs."""


@dataclass(frozen=True, kw_only=True)
class NumericFeature:
    """Read as (value - mean) / std, missing values as `impute`; all three in the column's own unit."""

    name: str
    mean: float
    std: float
    impute: float


@dataclass(frozen=True, kw_only=True)
class CategoricalFeature:
    """Value i of `vocabulary` is read as i + 1; 0 is what is missing or was too rare in training to learn from."""

    name: str
    vocabulary: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Shard:
    """One Parquet file, `name` relative to the manifest."""

    name: str
    rows: int
    size_bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """Everything about one version of prepared data."""

    recipe: Mapping[str, Any]
    numeric: tuple[NumericFeature, ...]
    categorical: tuple[CategoricalFeature, ...]
    splits: Mapping[str, tuple[Shard, ...]]

    @property
    def hash(self) -> str:
        """Content hash: equal exactly when shards, order and statistics are. 64 hex digits."""
        return hashlib.sha256(json.dumps(self._content(), sort_keys=True).encode()).hexdigest()

    def features(self) -> dict[str, Any]:
        """What a model needs to read a row, as JSON."""
        return {"numeric": [asdict(f) for f in self.numeric], "categorical": [asdict(f) for f in self.categorical]}

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, "hash": self.hash, **self._content()}, indent=1) + "\n"

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Raises DataError."""
        try:
            content = json.loads(path.read_text())
            if content["format"] != FORMAT:
                raise DataError(f"{path}: format {content['format']} is not {FORMAT}; prepare the data again")
            manifest = cls(
                recipe=content["recipe"],
                splits={
                    split: tuple(Shard(**shard) for shard in shards) for split, shards in content["splits"].items()
                },
                **cls.parse_features(content["features"]),
            )
        except FileNotFoundError as error:
            raise DataError(f"{path} is missing: the 'manifest' channel brings it; prepare the data first") from error
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path} is damaged ({error!r}); prepare the data again") from error
        if manifest.hash != content["hash"]:
            raise DataError(f"{path} does not match its own hash; prepare the data again")
        return manifest

    @staticmethod
    def parse_features(features: Mapping[str, Any]) -> dict[str, Any]:
        """`numeric` and `categorical`, from what `features` returned."""
        return {
            "numeric": tuple(NumericFeature(**f) for f in features["numeric"]),
            "categorical": tuple(
                CategoricalFeature(name=f["name"], vocabulary=tuple(f["vocabulary"])) for f in features["categorical"]
            ),
        }

    def _content(self) -> dict[str, Any]:
        splits = {split: [asdict(shard) for shard in shards] for split, shards in self.splits.items()}
        return {"recipe": self.recipe, "features": self.features(), "splits": splits}
