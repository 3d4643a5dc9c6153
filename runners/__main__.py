"""``python -m runners``. The one package that it needs beside the framework may be missing from a Python of a user."""

from __future__ import annotations

import importlib.util
import json
import signal
import sys


def _without(package: str) -> None:
    message = f"{sys.executable} has no {package}, which the runner needs"
    remedy = f"Install it:  {sys.executable} -m pip install jsonschema"
    if "json" in sys.argv:
        print(json.dumps({"event": "error", "message": message, "remedy": remedy, "exit_status": 6}))
    else:
        print(f"error: {message}\n{remedy}", file=sys.stderr)
    sys.exit(6)


# Until the program handles it, Ctrl-C ends it like any other signal: there is nothing to save yet.
signal.signal(signal.SIGINT, signal.SIG_DFL)
if importlib.util.find_spec("jsonschema") is None:
    # It is not imported before a document has a mistake; then it is too late to say so.
    _without("jsonschema")
try:
    from runners.core.cli import main
except ModuleNotFoundError as error:
    if error.name is None or error.name.split(".")[0] == "runners":
        raise
    _without(error.name)
else:
    main()
