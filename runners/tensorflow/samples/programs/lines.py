"""What the tables of programs have in common."""

from __future__ import annotations

import itertools
from typing import Any, Callable

import numpy as np
import tensorflow as tf

Lines = Callable[[Any, Any], Any]
"""Gets the function and a tensor of three rows and four columns, returns what the function made of it."""

_numbers = itertools.count()


def new_name() -> str:
    """A name for a resource that no other has in this process."""
    return f"portbench{next(_numbers)}"


def in_session(lines: Callable[[Any, Any, Any], Any]) -> Lines:
    """Lines in a graph of their own: they get a session, too, and an array in the place of the tensor. They return what
    the session gave."""

    def all_lines(function: Any, x: Any) -> Any:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            found = lines(function, session, x.numpy())
        return tf.nest.map_structure(tf.constant, found)

    return all_lines


def with_file(text: str, read: Callable[[Any, str], Any]) -> Lines:
    """What ``read`` gives for the function and the name of a file with this text."""

    def lines(function: Any, x: Any) -> Any:
        name = f"{new_name()}.txt"
        tf.io.write_file(name, text)
        return read(function, name)

    return lines


def raises(function: Callable[..., Any], *args: Any) -> bool:
    """Whether the function refuses these arguments."""
    try:
        function(*args)
    except (TypeError, ValueError, tf.errors.OpError):
        return True
    return False


def sized(x: Any, *shape: int) -> Any:
    """A tensor of this shape with different positive values."""
    count = int(np.prod(shape, dtype=int))
    factors = tf.cast(tf.range(1, count + 1), x.dtype) / count
    return tf.reshape(tf.tile(tf.reshape(x, [-1]), [count // 12 + 1])[:count] * factors, shape)


def whole(*values: Any) -> Any:
    """A tensor of whole numbers in 64 bits."""
    return tf.constant(values, tf.int64)


def picture() -> Any:
    """A picture of four by four pixels in three colours."""
    return tf.cast(tf.reshape(tf.range(48) * 5, [4, 4, 3]), tf.uint8)


def same_draws(function: Any, x: Any) -> Any:
    """Whether the function, which sets a seed, gives the same draws again, and with another seed others."""
    found = []
    for seed in (5, 5, 6):
        function(seed)
        found.append(tf.random.uniform((4,)))
    return tf.stack([tf.reduce_all(found[0] == found[1]), tf.reduce_all(found[0] == found[2])])


def texts(values: Any) -> Any:
    """A tensor of texts."""
    return tf.constant(values, tf.string)


def initialize(session: Any) -> None:
    """Gives all variables of the graph their first values."""
    session.run([tf.compat.v1.global_variables_initializer(), tf.compat.v1.local_variables_initializer()])
