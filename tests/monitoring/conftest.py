"""The scenarios of the benchmarks serve the tests of monitors too."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:  # pytest leaves the folder of the repository off the path
    sys.path.append(ROOT)
