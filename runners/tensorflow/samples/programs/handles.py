"""Operations of ``tf.raw_ops`` on what has a handle: tables, queues, stages, lists, maps, arrays, stacks, accumulators.

Each makes a handle, puts in parts of the tensor and gets them out again.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping

import tensorflow as tf

from runners.tensorflow.samples.programs.lines import Lines, new_name

_raw = tf.raw_ops


def _keys(*keys: int) -> Any:
    return tf.constant(keys or (1, 2, 3), tf.int64)


def _found(handle: Any, x: Any) -> Any:
    """What a table has for its keys, and for one that it does not have."""
    return _raw.LookupTableFindV2(table_handle=handle, keys=_keys(3, 1, 7), default_value=tf.zeros((), x.dtype))


def _table(x: Any) -> Any:
    handle = _raw.AnonymousMutableHashTable(key_dtype=tf.int64, value_dtype=x.dtype)
    _raw.LookupTableInsertV2(table_handle=handle, keys=_keys(), values=x[:, 0])
    return handle


def _on_table(**names: Any) -> Lines:
    """What an operation on a table gives, and leaves in it. Settings that are functions are of the tensor."""

    def lines(function: Any, x: Any) -> Any:
        handle = _table(x)
        given = {name: value(x) if callable(value) else value for name, value in names.items()}
        result = function(table_handle=handle, **given)
        return [_found(handle, x), *([] if result is None else [result])]

    return lines


def _of_keys() -> Mapping[str, Any]:
    return {"key_dtype": tf.int64}


def _dense() -> Mapping[str, Any]:
    return {"empty_key": tf.constant(0, tf.int64), "deleted_key": tf.constant(-1, tf.int64)}


def _made_table(
    named: bool, settings: Callable[[], Mapping[str, Any]] = _of_keys, fill: Any = _raw.LookupTableInsertV2
) -> Lines:
    """A table of one value for each key, which ``fill`` puts in."""

    def lines(function: Any, x: Any) -> Any:
        name = {"shared_name": new_name()} if named else {}
        handle = function(value_dtype=x.dtype, **settings(), **name)
        fill(table_handle=handle, keys=_keys(), values=x[:, 0])
        return _found(handle, x)

    return lines


def _made_table_of_rows(named: bool) -> Lines:
    def lines(function: Any, x: Any) -> Any:
        name = {"shared_name": new_name()} if named else {}
        handle = function(key_dtype=tf.int64, value_dtype=x.dtype, value_shape=[4], **name)
        _raw.LookupTableInsertV2(table_handle=handle, keys=_keys(), values=x)
        default = tf.zeros((4,), x.dtype)
        return _raw.LookupTableFindV2(table_handle=handle, keys=_keys(3, 1, 7), default_value=default)

    return lines


def _initialized(function: Any, x: Any) -> Any:
    handle = _raw.AnonymousHashTable(key_dtype=tf.int64, value_dtype=x.dtype)
    function(table_handle=handle, keys=_keys(), values=x[:, 0])
    return _found(handle, x)


def _exported(function: Any, x: Any) -> Any:
    keys, values = function(table_handle=_table(x), Tkeys=tf.int64, Tvalues=x.dtype)
    return tf.gather(values, tf.argsort(keys))


def _with_queue(lines: Callable[[Any, Any, Any], Any]) -> Lines:
    """Lines that get a queue, too, with two rows of the tensor."""

    def all_lines(function: Any, x: Any) -> Any:
        queue = _raw.FIFOQueueV2(component_types=[x.dtype], shapes=[[4]], shared_name=new_name())
        _raw.QueueEnqueueManyV2(handle=queue, components=[x[:2]])
        return lines(function, queue, x)

    return all_lines


def _dequeued(queue: Any, x: Any, count: int) -> Any:
    return _raw.QueueDequeueManyV2(handle=queue, n=count, component_types=[x.dtype])


def _enqueued(function: Any, queue: Any, x: Any) -> Any:
    function(handle=queue, components=[x[2]])
    return _dequeued(queue, x, 3)


def _enqueued_many(function: Any, queue: Any, x: Any) -> Any:
    function(handle=queue, components=[x[1:]])
    return _dequeued(queue, x, 4)


def _closed(function: Any, queue: Any, x: Any) -> Any:
    function(handle=queue)
    return [_raw.QueueIsClosedV2(handle=queue), _dequeued(queue, x, 2)]


def _made_queue(first: Callable[[Any], Any] | None = None, **more: Any) -> Lines:
    """A queue, from which comes what was put in; ``first`` puts other components before the tensor's rows."""

    def lines(function: Any, x: Any) -> Any:
        queue = function(shapes=[[4]], shared_name=new_name(), **{"component_types": [x.dtype], **more})
        before = [first(x)] if first else []
        _raw.QueueEnqueueManyV2(handle=queue, components=[*before, x])
        found = _raw.QueueDequeueManyV2(handle=queue, n=3, component_types=[each.dtype for each in (*before, x)])
        # Some queues mix what they hold.
        return [tf.sort(each, axis=0) for each in found] if "min_after_dequeue" in more else found

    return lines


def _staged(prefix: str, lines: Callable[[Any, Mapping[str, Any], Any], Any]) -> Lines:
    """Lines that get the settings of a stage, in which the tensor is: of a list, or of a map under the key 5."""

    def all_lines(function: Any, x: Any) -> Any:
        settings = {"dtypes": [x.dtype], "shared_name": new_name()}
        if prefix:
            stage = getattr(_raw, f"{prefix}Stage")
            stage(key=tf.constant(5, tf.int64), indices=[0], values=[x], **settings)
        else:
            _raw.Stage(values=[x], shared_name=settings["shared_name"])
        return lines(function, settings, x)

    return all_lines


def _put(prefix: str) -> Lines:
    def lines(function: Any, x: Any) -> Any:
        settings: Mapping[str, Any] = {"dtypes": [x.dtype], "shared_name": new_name()}
        if not prefix:
            function(values=[x], shared_name=settings["shared_name"])
            return _raw.Unstage(**settings)
        function(key=tf.constant(5, tf.int64), indices=[0], values=[x], **settings)
        return getattr(_raw, f"{prefix}Unstage")(key=tf.constant(5, tf.int64), indices=[0], **settings)

    return lines


def _cleared(prefix: str) -> Lines:
    def lines(function: Any, settings: Mapping[str, Any], x: Any) -> Any:
        function(**settings)
        return getattr(_raw, f"{prefix or 'Stage'}Size")(**settings)

    return _staged(prefix, lines)


def _stages(prefix: str) -> Mapping[str, Lines]:
    """The operations on a map of stages."""
    key: Callable[[], Mapping[str, Any]] = lambda: {"key": tf.constant(5, tf.int64), "indices": [0]}  # noqa: E731
    return {
        f"tf.raw_ops.{prefix}Clear": _cleared(prefix),
        f"tf.raw_ops.{prefix}IncompleteSize": _staged(prefix, lambda function, settings, x: function(**settings)),
        f"tf.raw_ops.{prefix}Peek": _staged(prefix, lambda function, settings, x: function(**key(), **settings)),
        f"tf.raw_ops.{prefix}Size": _staged(prefix, lambda function, settings, x: function(**settings)),
        f"tf.raw_ops.{prefix}Stage": _put(prefix),
        f"tf.raw_ops.{prefix}Unstage": _staged(prefix, lambda function, settings, x: function(**key(), **settings)),
        f"tf.raw_ops.{prefix}UnstageNoKey": _staged(
            prefix, lambda function, settings, x: function(indices=[0], **settings)
        ),
    }


def _optional(x: Any) -> Any:
    return _raw.OptionalFromValue(components=[x])


def _value(optional: Any, x: Any) -> Any:
    return _raw.OptionalGetValue(optional=optional, output_types=[x.dtype], output_shapes=[x.shape])


def _locked(function: Any, x: Any) -> Any:
    function(mutex_lock=_raw.MutexLock(mutex=_raw.MutexV2(shared_name=new_name())))
    return x + x


LINES: Mapping[str, Lines] = {
    "tf.raw_ops.AnonymousHashTable": _made_table(named=False, fill=_raw.InitializeTableV2),
    "tf.raw_ops.AnonymousMutableDenseHashTable": _made_table(named=False, settings=_dense),
    "tf.raw_ops.AnonymousMutableHashTable": _made_table(named=False),
    "tf.raw_ops.AnonymousMutableHashTableOfTensors": _made_table_of_rows(named=False),
    "tf.raw_ops.HashTableV2": _made_table(named=True, fill=_raw.InitializeTableV2),
    "tf.raw_ops.InitializeTableV2": _initialized,
    "tf.raw_ops.LookupTableExportV2": _exported,
    "tf.raw_ops.LookupTableFindV2": _on_table(keys=lambda x: _keys(2, 9), default_value=lambda x: x[0, 1]),
    "tf.raw_ops.LookupTableImportV2": _on_table(keys=lambda x: _keys(3, 7), values=lambda x: x[:2, 1]),
    "tf.raw_ops.LookupTableInsertV2": _on_table(keys=lambda x: _keys(3, 7), values=lambda x: x[:2, 1]),
    "tf.raw_ops.LookupTableRemoveV2": _on_table(keys=lambda x: _keys(3)),
    "tf.raw_ops.LookupTableSizeV2": _on_table(),
    "tf.raw_ops.MutableDenseHashTableV2": _made_table(named=True, settings=_dense),
    "tf.raw_ops.MutableHashTableOfTensorsV2": _made_table_of_rows(named=True),
    "tf.raw_ops.MutableHashTableV2": _made_table(named=True),
    "tf.raw_ops.FIFOQueueV2": _made_queue(),
    "tf.raw_ops.PaddingFIFOQueueV2": _made_queue(),
    "tf.raw_ops.PriorityQueueV2": lambda function, x: _by_priority(function, x),
    "tf.raw_ops.QueueCloseV2": _with_queue(_closed),
    "tf.raw_ops.QueueDequeueManyV2": _with_queue(
        lambda function, queue, x: function(handle=queue, n=2, component_types=[x.dtype])
    ),
    "tf.raw_ops.QueueDequeueUpToV2": _with_queue(
        lambda function, queue, x: function(handle=queue, n=1, component_types=[x.dtype])
    ),
    "tf.raw_ops.QueueDequeueV2": _with_queue(
        lambda function, queue, x: function(handle=queue, component_types=[x.dtype])
    ),
    "tf.raw_ops.QueueEnqueueManyV2": _with_queue(_enqueued_many),
    "tf.raw_ops.QueueEnqueueV2": _with_queue(_enqueued),
    "tf.raw_ops.QueueIsClosedV2": _with_queue(lambda function, queue, x: function(handle=queue)),
    "tf.raw_ops.QueueSizeV2": _with_queue(lambda function, queue, x: function(handle=queue)),
    "tf.raw_ops.RandomShuffleQueueV2": _made_queue(min_after_dequeue=0, seed=1, seed2=2),
    **_stages("Map"),
    **_stages("OrderedMap"),
    "tf.raw_ops.Stage": _put(""),
    "tf.raw_ops.StageClear": _cleared(""),
    "tf.raw_ops.StagePeek": _staged("", lambda function, settings, x: function(index=0, **settings)),
    "tf.raw_ops.StageSize": _staged("", lambda function, settings, x: function(**settings)),
    "tf.raw_ops.Unstage": _staged("", lambda function, settings, x: function(**settings)),
    "tf.raw_ops.OptionalFromValue": lambda function, x: _value(function(components=[x]), x),
    "tf.raw_ops.OptionalGetValue": lambda function, x: function(
        optional=_optional(x), output_types=[x.dtype], output_shapes=[x.shape]
    ),
    "tf.raw_ops.OptionalHasValue": lambda function, x: function(optional=_optional(x)),
    "tf.raw_ops.OptionalNone": lambda function, x: _raw.OptionalHasValue(optional=function()),
    "tf.raw_ops.ConsumeMutexLock": _locked,
    "tf.raw_ops.MutexLock": lambda function, x: _held(function(mutex=_raw.MutexV2(shared_name=new_name())), x),
    "tf.raw_ops.MutexV2": lambda function, x: _held(_raw.MutexLock(mutex=function(shared_name=new_name())), x),
}


def _held(lock: Any, x: Any) -> Any:
    _raw.ConsumeMutexLock(mutex_lock=lock)
    return x + x


def _by_priority(function: Any, x: Any) -> Any:
    queue = function(component_types=[x.dtype], shapes=[[4]], shared_name=new_name())
    _raw.QueueEnqueueManyV2(handle=queue, components=[tf.constant([7, 5, 6], tf.int64), x])
    return _raw.QueueDequeueManyV2(handle=queue, n=3, component_types=[tf.int64, x.dtype])
