"""Follow a run: what a person sees while it goes on, and the table at its end.

On a terminal one live panel; piped, a line for each event and no control characters. All of it on stderr.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from infra.cli.output import dollars, duration, err, say, when
from infra.cli.runs import Run, describe
from infra.cli.target import Target

__all__ = ["Events", "follow", "summary_lines", "summary_table"]

NUM_EVENTS_SHOWN = 8
VERDICT_STYLE = {
    "running": "cyan",
    "waiting": "yellow",
    "completed": "green",
    "interrupted": "yellow",
    "capacity": "yellow",
    "quota": "yellow",
    "throttled": "yellow",
    "service": "yellow",
    "timeout": "yellow",
}


@dataclass
class Events:
    """Differences between one look and the next, as lines."""

    seen: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    decision: str | None = None
    preparing: bool = False
    lines: list[str] = field(default_factory=list)

    def update(self, summary: dict[str, Any]) -> Iterator[str]:
        if summary.get("preparing") and not self.preparing:
            self.preparing = True
            yield f"data  preparing: {summary['preparing']}"
        for attempt in summary["attempts"]:
            now = (attempt.get("verdict"), attempt.get("secondary"), attempt.get("interruptions") or 0)
            before = self.seen.get(attempt["number"])
            if now != before:
                self.seen[attempt["number"]] = now
                yield from self._attempt(attempt, before)
        decisions = summary["decisions"]
        reason = f"{decisions[-1].get('do')}: {decisions[-1].get('reason')}" if decisions else None
        if reason and reason != self.decision:
            self.decision = reason
            yield f"decision  {reason}"

    def _attempt(self, attempt: dict[str, Any], before: tuple[Any, ...] | None) -> Iterator[str]:
        label = f"attempt {attempt['number']}"
        if before is None:
            yield f"{label}  {attempt['training_job']}: {attempt['market']} {attempt['instance']}"
            before = (None, None, 0)
        if (attempt.get("interruptions") or 0) > before[2]:
            yield f"{label}  interrupted by a Spot reclaim ({attempt['interruptions']}x)"
        elif attempt.get("verdict") and attempt["verdict"] != before[0] and attempt.get("closed"):
            yield f"{label}  {attempt['verdict']}{_because(attempt)}"
        elif attempt.get("secondary") and attempt["secondary"] != before[1]:
            yield f"{label}  {attempt['secondary']}"


def _because(attempt: dict[str, Any]) -> str:
    reason = attempt.get("reason")
    return f": {str(reason).splitlines()[0][:160]}" if reason else ""


def follow(target: Target, run: Run, *, interval_s: float) -> dict[str, Any]:
    """Watch until the run is over; returns its summary. Ctrl-C passes through: it stops watching, nothing else."""
    events = Events()
    if not err.is_terminal:
        return _follow_lines(target, run, events, interval_s)
    with Live(console=err, refresh_per_second=8, transient=True) as live:
        while True:
            summary = describe(target, run)
            for line in events.update(summary):
                events.lines.append(f"{time.strftime('%H:%M:%S')}  {line}")
            live.update(_panel(summary, events.lines[-NUM_EVENTS_SHOWN:]))
            if summary["status"] != "RUNNING":
                break
            time.sleep(interval_s)
    for line in events.lines:
        say(line, style="dim")
    return summary


def _follow_lines(target: Target, run: Run, events: Events, interval_s: float) -> dict[str, Any]:
    last_progress = ""
    while True:
        summary = describe(target, run)
        for line in events.update(summary):
            say(line)
        progress = _progress_line(summary.get("progress"))
        if progress and progress != last_progress:
            say(f"progress  {progress}")
            last_progress = progress
        if summary["status"] != "RUNNING":
            return summary
        time.sleep(max(interval_s, 1.0))


def _progress_line(progress: dict[str, Any] | None) -> str:
    if not progress or not progress.get("total_steps"):
        return ""
    step = progress.get("live_step") or progress.get("step") or 0
    text = f"epoch {progress.get('epoch', 0)}/{progress.get('epochs', '?')}  step {step}/{progress['total_steps']}"
    if progress.get("steps_per_s"):
        text += f"  {progress['steps_per_s']:.0f} steps/s"
    metric = progress.get("metric")
    if metric and metric.get("value") is not None:
        text += f"  {metric['name']} {metric['value']:.4f}"
    return text


def _panel(summary: dict[str, Any], lines: list[str]) -> RenderableType:
    head = Text(f"{summary['job']}  run {summary['run']}  {summary['status']}", style="bold")
    if summary.get("deadline"):
        head.append(f"  deadline {when(summary['deadline'])}", style="not bold dim")
    parts: list[RenderableType] = [head]
    progress = summary.get("progress") or {}
    if progress.get("total_steps"):
        step = progress.get("live_step") or 0
        line = Table.grid(padding=(0, 2, 0, 0))
        line.add_row(
            ProgressBar(total=progress["total_steps"], completed=step, width=40), Text(_progress_line(progress))
        )
        parts.append(line)
    if summary["attempts"]:
        parts.append(attempts_table(summary))
    parts += [Text(line, style="dim") for line in lines]
    return Group(*parts)


def attempts_table(summary: dict[str, Any]) -> Table:
    """One row for each CreateTrainingJob, refused ones too."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("attempt", "instance", "market", "verdict", "steps", "ran", "billed", "interrupted", "cost"):
        table.add_column(
            column, justify="left" if column in {"instance", "market", "verdict"} else "right", no_wrap=True
        )
    for attempt in summary["attempts"]:
        verdict = str(attempt.get("verdict") or "-")
        steps = f"{attempt['start_step']}-{attempt['end_step']}" if attempt.get("end_step") is not None else "-"
        count = attempt.get("instance_count") or 1
        table.add_row(
            str(attempt["number"]),
            attempt["instance"] + (f" x{count}" if count > 1 else ""),
            attempt["market"],
            Text(verdict, style=VERDICT_STYLE.get(verdict, "red")),
            steps,
            duration(attempt.get("training_s")),
            duration(attempt.get("billable_s")),
            str(attempt.get("interruptions") or 0),
            dollars(attempt.get("cost_usd")),
        )
    return table


def summary_table(summary: dict[str, Any]) -> RenderableType:
    """The end of a run: attempts, then what came of it."""
    ok = summary["status"] == "SUCCEEDED"
    parts: list[RenderableType] = [
        Text(""),
        Text(f"{summary['job']}  run {summary['run']}  {summary['status']}", style="bold green" if ok else "bold red"),
    ]
    if summary["attempts"]:
        parts += [attempts_table(summary), Text("")]
    parts += [Text(line) for line in summary_lines(summary)]
    return Group(*parts)


def summary_lines(summary: dict[str, Any]) -> list[str]:
    """The facts below the attempts, one a line."""
    lines = []
    if summary.get("error"):
        cause = str(summary.get("cause") or "").strip()
        lines.append(f"error                {summary['error']}" + (f": {cause[:1500]}" if cause else ""))
    if summary["status"] == "RUNNING" and (progress := _progress_line(summary.get("progress"))):
        lines.append(f"progress             {progress}")
    lines.append(f"steps redone         {summary['steps_redone']}")
    if summary.get("saving") is not None:
        lines.append(
            f"cost                 {dollars(summary['cost_usd'])}, on demand {dollars(summary['on_demand_cost_usd'])}"
            f" (saving {summary['saving']:.0%})"
        )
    for name, value in sorted(summary["metrics"].items()):
        lines.append(f"{name:<20} {value:.4f}")
    if summary.get("weights_digest"):
        lines.append(f"weights              sha256 {summary['weights_digest'][:16]}")
    if summary.get("model"):
        lines.append(f"model                {summary['model']}")
    lines.append(f"ledger               {summary['ledger']}")
    return lines
