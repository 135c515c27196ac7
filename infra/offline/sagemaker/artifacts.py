"""What a training job leaves in S3: model.tar.gz and output.tar.gz, as SageMaker packs them."""

from __future__ import annotations

import tarfile
from pathlib import Path

from .objects import ObjectStore, S3Uri

__all__ = ["upload_artifacts"]


def upload_artifacts(store: ObjectStore, root: Path, target: S3Uri) -> S3Uri:
    """Pack /opt/ml/model and, unless it is empty, /opt/ml/output/data.

    Args:
        root: the first host's /opt/ml.
        target: `<S3OutputPath>/<job>/output`.

    Returns:
        Where the model is.
    """
    model = target / "model.tar.gz"
    store.put(model, _packed(root / "model", root.parent / "model.tar.gz"))
    data = root / "output" / "data"
    if any(data.iterdir()):
        store.put(target / "output.tar.gz", _packed(data, root.parent / "output.tar.gz"))
    return model


def _packed(folder: Path, archive: Path) -> Path:
    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        for path in sorted(folder.iterdir()):
            tar.add(path, arcname=path.name)
    return archive
