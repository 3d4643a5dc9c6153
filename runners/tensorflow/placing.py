"""Places everything that is computed in a context on one device; an operation without a kernel there is an error."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import session as sessions
from tensorflow.python.framework import ops

STAND_IN = "/device:CPU:1"
"""A second device of the same CPU is the stand-in for a GPU, so that its operations differ from those of the host."""


@contextlib.contextmanager
def placed(device: str) -> Iterator[None]:
    """Places eager operations, functions, version 1 graphs and their sessions in this context on ``device``.

    ``tf.device`` alone is not enough: entering a graph discards the scopes around it, and a session places operations
    on the host if its own configuration allows it (that of ``tf.test.TestCase`` does).
    """
    make_graph, make_session = ops.Graph.__init__, sessions.BaseSession.__init__
    soft = tf.config.get_soft_device_placement()

    def graph_on_device(self: Any, *args: Any, **kwargs: Any) -> None:
        make_graph(self, *args, **kwargs)
        # Graphs of functions have a subclass, and run where they are called.
        if type(self) is ops.Graph:
            self._add_device_to_stack(device)

    def session_without_soft_placement(self: Any, target: str = "", graph: Any = None, config: Any = None) -> None:
        own = config_pb2.ConfigProto()
        if isinstance(config, config_pb2.ConfigProto):
            own.CopyFrom(config)
        own.allow_soft_placement = False
        if device == STAND_IN:
            # A session has devices of its own: by default one CPU.
            own.device_count["CPU"] = 2
        # TensorFlow raises an error for anything that is not a configuration.
        make_session(self, target, graph, own if config is None or isinstance(config, type(own)) else config)

    ops.Graph.__init__ = graph_on_device
    sessions.BaseSession.__init__ = session_without_soft_placement
    try:
        tf.config.set_soft_device_placement(False)
        with tf.device(device):
            yield
    finally:
        ops.Graph.__init__, sessions.BaseSession.__init__ = make_graph, make_session
        tf.config.set_soft_device_placement(soft)
