"""Starts the recorder in every Python of a program that ``portbench record`` runs, then the program's own start-up.

Python imports ``sitecustomize`` by itself when it starts, the first one on its path, which is this one.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _start():
    try:
        import portbench_recorder

        portbench_recorder.start_from_environment()
    except Exception as error:
        sys.stderr.write(f"portbench record: nothing is recorded in this process: {error}\n")


def _run_next():
    # The environment may have a sitecustomize of its own.
    here = os.path.dirname(os.path.abspath(__file__))
    path = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]
    found = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if found is not None and found.loader is not None:
        module = importlib.util.module_from_spec(found)
        sys.modules["sitecustomize"] = module
        found.loader.exec_module(module)


_start()
_run_next()
