"""What runs inside an environment or image: reads a manifest, runs its tests on one device, writes one run file.

Needs Python 3.8 or newer, the standard library, jsonschema and the framework under test, and nothing of the host side.
Start it as ``python -m runners`` from the folder above. If it is started as a script, ``import torch`` finds
``runners/torch``.
"""
