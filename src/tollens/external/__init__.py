"""Any program as a mechanism: JSON lines on its stdin and stdout.

`command` runs a program of any language, `in_environment` a Python function in another
interpreter. `child` is the process, `conversation` what is said to it, `agent` the script that
runs in the other interpreter.
"""

from tollens.external.environment import in_environment
from tollens.external.program import command

__all__ = ["command", "in_environment"]
