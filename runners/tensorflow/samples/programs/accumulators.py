"""Operations of ``tf.raw_ops`` on stacks, accumulators and barriers, in a graph."""

from __future__ import annotations

from typing import Any, Callable, Mapping

import tensorflow as tf

from runners.tensorflow.samples.programs.lines import Lines, in_session, new_name

_raw = tf.raw_ops
_ROW = [4]


def _on_stack(lines: Callable[[Any, Any, Any], Any]) -> Lines:
    def all_lines(function: Any, session: Any, x: Any) -> Any:
        x = tf.constant(x)
        stack = _raw.StackV2(max_size=3, elem_type=x.dtype, stack_name=new_name())
        return session.run(lines(function, stack, x))

    return in_session(all_lines)


def _popped_stack(function: Any, stack: Any, x: Any) -> Any:
    with tf.control_dependencies([_raw.StackPushV2(handle=stack, elem=x)]):
        return function(handle=stack, elem_type=x.dtype)


def _pushed_stack(function: Any, stack: Any, x: Any) -> Any:
    with tf.control_dependencies([function(handle=stack, elem=x)]):
        return _raw.StackPopV2(handle=stack, elem_type=x.dtype)


def _made_stack(function: Any, session: Any, x: Any) -> Any:
    x = tf.constant(x)
    stack = function(max_size=3, elem_type=x.dtype, stack_name=new_name())
    return session.run(_pushed_stack(_raw.StackPushV2, stack, x))


def _closed_stack(function: Any, stack: Any, x: Any) -> Any:
    found = _pushed_stack(_raw.StackPushV2, stack, x)
    with tf.control_dependencies([found]):
        done = function(handle=stack)
    with tf.control_dependencies([done]):
        return found + 1


def _accumulated(prefix: str, lines: Callable[[Any, Any, Any, Any], Any]) -> Lines:
    """Lines that get an accumulator with one gradient, made by the operation whose name has this prefix."""

    def all_lines(function: Any, session: Any, x: Any) -> Any:
        x = tf.constant(x)
        settings = {"dtype": x.dtype, "shape": x.shape, "shared_name": new_name()}
        handle = getattr(_raw, f"{prefix}ConditionalAccumulator")(**settings)
        session.run(_applied(_of(prefix, "ApplyGradient"), handle, x, prefix))
        return lines(function, session, handle, x)

    return in_session(all_lines)


def _of(prefix: str, name: str) -> Any:
    """An operation on accumulators; sparse ones share some with dense ones."""
    return getattr(_raw, f"{prefix}Accumulator{name}")


def _applied(function: Any, handle: Any, x: Any, prefix: str) -> Any:
    step = tf.constant(0, tf.int64)
    if prefix == "Sparse":
        indices = tf.constant([0, 2], tf.int64)
        values = {
            "gradient_indices": indices,
            "gradient_values": x[:2],
            "gradient_shape": tf.constant([3, 4], tf.int64),
        }
        return function(handle=handle, local_step=step, has_known_shape=True, **values)
    return function(handle=handle, local_step=step, gradient=x)


def _taken(function: Any, handle: Any, x: Any, count: int = 1) -> Any:
    found = function(handle=handle, num_required=count, dtype=x.dtype)
    return list(found) if isinstance(found, tuple) else found


def _accumulators(prefix: str) -> Mapping[str, Lines]:
    def made(function: Any, session: Any, x: Any) -> Any:
        x = tf.constant(x)
        handle = function(dtype=x.dtype, shape=x.shape, shared_name=new_name())
        session.run(_applied(_of(prefix, "ApplyGradient"), handle, x, prefix))
        return session.run(_taken(_of(prefix, "TakeGradient"), handle, x))

    def applied(function: Any, session: Any, handle: Any, x: Any) -> Any:
        session.run(_applied(function, handle, x + 1, prefix))
        return session.run(_taken(_of(prefix, "TakeGradient"), handle, x, 2))

    def taken(function: Any, session: Any, handle: Any, x: Any) -> Any:
        return session.run(_taken(function, handle, x))

    found = {
        f"tf.raw_ops.{prefix}ConditionalAccumulator": in_session(made),
        f"tf.raw_ops.{prefix}AccumulatorApplyGradient": _accumulated(prefix, applied),
        f"tf.raw_ops.{prefix}AccumulatorTakeGradient": _accumulated(prefix, taken),
    }
    if prefix == "Sparse":
        return found

    def counted(function: Any, session: Any, handle: Any, x: Any) -> Any:
        return session.run(function(handle=handle))

    def stepped(function: Any, session: Any, handle: Any, x: Any) -> Any:
        session.run(function(handle=handle, new_global_step=tf.constant(3, tf.int64)))
        # A gradient of an older step does not count.
        session.run(_applied(_of(prefix, "ApplyGradient"), handle, x + 1, prefix))
        return session.run(_of(prefix, "NumAccumulated")(handle=handle))

    found[f"tf.raw_ops.{prefix}AccumulatorNumAccumulated"] = _accumulated(prefix, counted)
    found[f"tf.raw_ops.{prefix}AccumulatorSetGlobalStep"] = _accumulated(prefix, stepped)
    return found


def _with_barrier(lines: Callable[[Any, Any, Any, Any], Any]) -> Lines:
    """Lines that get a barrier with two whole elements."""

    def all_lines(function: Any, session: Any, x: Any) -> Any:
        handle = _raw.Barrier(component_types=[x.dtype], shapes=[_ROW], shared_name=new_name())
        session.run(_raw.BarrierInsertMany(handle=handle, keys=["a", "b"], values=x[:2], component_index=0))
        return session.run(lines(function, session, handle, x))

    return in_session(all_lines)


def _made_barrier(function: Any, session: Any, x: Any) -> Any:
    handle = function(component_types=[x.dtype], shapes=[_ROW], shared_name=new_name())
    session.run(_raw.BarrierInsertMany(handle=handle, keys=["a", "b"], values=x[:2], component_index=0))
    return session.run(_of_barrier(_raw.BarrierTakeMany, handle, x, 2))


def _of_barrier(function: Any, handle: Any, x: Any, count: int) -> Any:
    _, keys, values = function(handle=handle, num_elements=count, component_types=[x.dtype])
    return [keys, *values]


def _inserted(function: Any, session: Any, handle: Any, x: Any) -> Any:
    session.run(function(handle=handle, keys=["c"], values=x[2:], component_index=0))
    return _of_barrier(_raw.BarrierTakeMany, handle, x, 3)


def _closed_barrier(function: Any, session: Any, handle: Any, x: Any) -> Any:
    session.run(function(handle=handle))
    return _of_barrier(_raw.BarrierTakeMany, handle, x, 2)


LINES: Mapping[str, Lines] = {
    "tf.raw_ops.StackCloseV2": _on_stack(_closed_stack),
    "tf.raw_ops.StackPopV2": _on_stack(_popped_stack),
    "tf.raw_ops.StackPushV2": _on_stack(_pushed_stack),
    "tf.raw_ops.StackV2": in_session(_made_stack),
    **_accumulators(""),
    **_accumulators("Resource"),
    **_accumulators("Sparse"),
    "tf.raw_ops.Barrier": in_session(_made_barrier),
    "tf.raw_ops.BarrierClose": _with_barrier(_closed_barrier),
    "tf.raw_ops.BarrierIncompleteSize": _with_barrier(lambda function, session, handle, x: function(handle=handle)),
    "tf.raw_ops.BarrierInsertMany": _with_barrier(_inserted),
    "tf.raw_ops.BarrierReadySize": _with_barrier(lambda function, session, handle, x: function(handle=handle)),
    "tf.raw_ops.BarrierTakeMany": _with_barrier(
        lambda function, session, handle, x: _of_barrier(function, handle, x, 2)
    ),
}
