"""Which public functions and classes a framework has.

``listing.py`` starts ``child.py``, which looks into the framework in a process of its own: ``modules.py`` and
``functions.py``, or ``study.py`` by the paper's rule. What they must know of a framework is a ``library.py``.
"""
