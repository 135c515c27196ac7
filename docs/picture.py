"""Draw docs/run.svg from a real run: `slipstream status RUN --offline --json | python docs/picture.py`."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

from rich.console import Console

from infra.cli.watch import summary_table

if __name__ == "__main__":
    console = Console(record=True, width=112, file=io.StringIO(), force_terminal=True)
    console.print(summary_table(json.load(sys.stdin)))
    svg = console.export_svg(title="slipstream run flights --offline")
    # rich names web fonts; a picture in a README loads nothing from elsewhere.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    Path(__file__).with_name("run.svg").write_text(svg, encoding="utf-8")
