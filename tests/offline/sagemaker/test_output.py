"""Lines and metrics from a growing log."""

from __future__ import annotations

from pathlib import Path

from infra.offline.sagemaker.output import LineReader, MetricScanner


def test_lines_come_whole(tmp_path: Path) -> None:
    log = tmp_path / "log"
    reader = LineReader(log)
    assert reader.read() == []
    with log.open("ab", buffering=0) as file:
        file.write(b"one\r\ntw")
        assert reader.read() == ["one"]
        file.write(b"o\n\nthr\xff")
        assert reader.read() == ["two", ""]
    assert reader.read(final=True) == ["thr\ufffd"]
    assert reader.read(final=True) == []


def test_a_reader_may_begin_in_the_middle(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("old\nnew\n")
    assert LineReader(log, position=4).read() == ["new"]


def test_metrics_are_found_by_their_expressions() -> None:
    scanner = MetricScanner(
        [
            {"Name": "auc", "Regex": r"validation:auc=([0-9.]+)"},
            {"Name": "loss", "Regex": r"train:loss=([-+0-9.eE]+)"},
            {"Name": "word", "Regex": r"epoch=(\w+)"},
        ]
    )
    line = "slipstream epoch=three step=10 validation:auc=0.67 train:loss=-1e-3"
    assert list(scanner.scan(line)) == [("auc", 0.67), ("loss", -0.001)]
    assert list(scanner.scan("nothing here")) == []
