"""Runs the tests of targets in shards on many machines, by engines that exist: Slurm, Kubernetes, SkyPilot, Ray.

Writes what an engine needs, and hands it over. Placing, waiting and repeating are the engine's.
"""
