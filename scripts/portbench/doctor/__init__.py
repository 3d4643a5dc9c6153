"""Checks before a run whether this machine has what a target needs, and says how to fix what is wrong.

Each module checks one thing, independently of the others, and changes nothing on the machine. ``diagnosis`` combines
the checks for a target.
"""
