"""What a target needs of this machine, checked before it runs: each module looks at one thing and says how to mend it.

``diagnosis`` puts them together for a target; the others know of each other nothing, and run nothing that changes
the machine.
"""
