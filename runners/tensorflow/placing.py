"""One device for everything that is computed in a context, and an error for what has no kernel there."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import session as sessions
from tensorflow.python.framework import ops

STAND_IN = "/device:CPU:1"
"""A second device of the same CPU stands in for a GPU: what is asked of it can be told from what is the host's."""


@contextlib.contextmanager
def placed(device: str) -> Iterator[None]:
    """Eager operations, functions, version 1 graphs and their sessions in this context are ``device``'s.

    ``tf.device`` alone does not do: a graph that is entered forgets the scopes around it, and a session places
    operations on the host if its own configuration says so (that of ``tf.test.TestCase`` does).
    """
    make_graph, make_session = ops.Graph.__init__, sessions.BaseSession.__init__
    soft = tf.config.get_soft_device_placement()

    def graph_on_device(self: Any, *args: Any, **kwargs: Any) -> None:
        make_graph(self, *args, **kwargs)
        # Graphs of functions are of a subclass, and run where they are called.
        if type(self) is ops.Graph:
            self._add_device_to_stack(device)

    def session_without_soft_placement(self: Any, target: str = "", graph: Any = None, config: Any = None) -> None:
        strict = config_pb2.ConfigProto()
        if isinstance(config, config_pb2.ConfigProto):
            strict.CopyFrom(config)
        strict.allow_soft_placement = False
        if device == STAND_IN:
            # A session has devices of its own: one CPU unless it is told otherwise.
            strict.device_count["CPU"] = 2
        # What is no configuration is for TensorFlow to refuse.
        make_session(self, target, graph, strict if config is None or isinstance(config, type(strict)) else config)

    ops.Graph.__init__ = graph_on_device
    sessions.BaseSession.__init__ = session_without_soft_placement
    try:
        tf.config.set_soft_device_placement(False)
        with tf.device(device):
            yield
    finally:
        ops.Graph.__init__, sessions.BaseSession.__init__ = make_graph, make_session
        tf.config.set_soft_device_placement(soft)
