"""What runs inside an image: reads a manifest, runs its tests on one device, emits one run file.

Python 3.8 and newer, the standard library, jsonschema and the framework under test; nothing of the host side.
Start it as ``python -m runners`` from the folder above: started as a script, ``import torch`` would find
``runners/torch``.
"""
