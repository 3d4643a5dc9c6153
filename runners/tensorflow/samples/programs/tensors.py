"""Functions of ``tf`` and its modules that need several fitting arguments, a file, or what they returned before."""

from __future__ import annotations

from typing import Any, Mapping

import tensorflow as tf

from runners.tensorflow.samples.programs.lines import Lines, new_name, raises, same_draws, sized, whole


def _sparse(x: Any) -> Any:
    return tf.SparseTensor([[0, 1], [1, 0], [2, 3]], x[0, :3], [3, 4])


def _other(x: Any) -> Any:
    return tf.SparseTensor([[0, 3], [1, 0], [2, 2]], x[1, :3], [3, 4])


def _ids() -> Any:
    return tf.SparseTensor([[0, 0], [0, 1], [1, 0]], whole(2, 0, 1), [2, 2])


def _ragged(x: Any) -> Any:
    return tf.RaggedTensor.from_row_lengths(x, [1, 2])


def _same_structure(function: Any, x: Any) -> Any:
    """Which structures the function refuses."""
    nested = {"a": x, "b": [x, x]}
    pairs = [(nested, {"a": 1, "b": [2, 3]}), (nested, {"a": 1, "b": [2]}), (nested, [1, 2]), ([x], (x,))]
    return tf.constant([raises(function, first, second) for first, second in pairs])


def _printed(function: Any, x: Any) -> Any:
    name = f"{new_name()}.txt"
    function("values:", tf.range(4), output_stream=f"file://{name}")
    return tf.io.read_file(name)


def _converted(function: Any, x: Any) -> Any:
    class Twice:
        def __init__(self, value: Any) -> None:
            self.value = value

    def convert(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
        return tf.convert_to_tensor(2 * value.value, dtype)

    function(Twice, convert)
    return x + Twice(x)


def _forward(function: Any, x: Any) -> Any:
    with function(x, tf.ones_like(x)) as accumulator:
        found = x * x * x
    return accumulator.jvp(found)


def _averaged(function: Any, x: Any) -> Any:
    variable = tf.Variable(x)
    average = function(0.5)
    average.apply([variable])
    variable.assign_add(x)
    average.apply([variable])
    return tf.convert_to_tensor(average.average(variable))


def _created(function: Any, x: Any) -> Any:
    """A scope in which variables are twice as large."""

    def creator(following: Any, **settings: Any) -> Any:
        return following(**{**settings, "initial_value": settings["initial_value"] * 2})

    with function(creator):
        return tf.convert_to_tensor(tf.Variable(x))


def _module(function: Any, x: Any) -> Any:
    made = function(name="layer")
    made.first, made.second = tf.Variable(x), tf.Variable(x + 1, trainable=False)
    return [tf.constant([len(made.variables), len(made.trainable_variables)]), tf.constant(made.name)]


def _queue(**more: Any) -> Lines:
    def lines(function: Any, x: Any) -> Any:
        queue = function(5, **more, dtypes=[x.dtype], shapes=[[4]])
        queue.enqueue_many([x])
        return [queue.size(), tf.sort(queue.dequeue_many(3), axis=0)]

    return lines


def _by_priority(function: Any, x: Any) -> Any:
    queue = function(5, [x.dtype], [[4]])
    queue.enqueue_many([whole(3, 1, 2), x])
    return [queue.dequeue(), queue.size()]


def _dense_table(function: Any, x: Any) -> Any:
    table = function(tf.int64, x.dtype, tf.cast(0, x.dtype), whole(0)[0], whole(-1)[0])
    table.insert(whole(1, 2, 3), x[:, 0])
    table.erase(whole(2))
    return [table.lookup(whole(3, 2, 1)), table.size()]


def _mutable_table(function: Any, x: Any) -> Any:
    table = function(tf.int64, x.dtype, tf.cast(0, x.dtype))
    table.insert(whole(1, 2, 3), x[:, 0])
    table.remove(whole(2))
    return [table.lookup(whole(3, 2, 1)), table.size()]


def _vocabulary(function: Any, x: Any) -> Any:
    words = tf.lookup.KeyValueTensorInitializer(tf.constant(["a", "b"]), whole(0, 1))
    return function(words, 2).lookup(tf.constant(["b", "c", "a"]))


def _held(function: Any, x: Any) -> Any:
    variable = tf.Variable(x)
    return function(name=new_name()).execute(lambda: variable.assign_add(x) + 0)


def _with_gradient(function: Any, x: Any) -> Any:
    """The values and the gradients of a function that is computed again on the way back."""
    computed = function(lambda a: a * a * a)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = computed(x)
    return [y, tape.gradient(y, x)]


def _branches(function: Any, x: Any) -> Any:
    total = tf.reduce_sum(x)
    return function([(total > 100, lambda: x + 1), (total > 1, lambda: x * 2)], default=lambda: x)


def _made_generator(function: Any, x: Any) -> Any:
    made = function(state=tf.random.create_rng_state(5, "philox"), alg="philox")
    return [made.uniform((4,)), tf.convert_to_tensor(made.state)]


def _global_generator(function: Any, x: Any) -> Any:
    tf.random.set_global_generator(tf.random.Generator.from_seed(5))
    return function().uniform((4,))


def _set_generator(function: Any, x: Any) -> Any:
    function(tf.random.Generator.from_seed(5))
    return tf.random.get_global_generator().uniform((4,))


def _image(x: Any) -> Any:
    return sized(x, 8, 8, 3)


def _factors(x: Any) -> tuple[Any, Any]:
    lower_upper, places = tf.linalg.lu(x[:, :3] + 2 * tf.eye(3, dtype=x.dtype))
    return lower_upper, places


def _text(name: str) -> Lines:
    return lambda function, x: tf.constant(function(name))


LINES: Mapping[str, Lines] = {
    "tf.compat.v1.sparse_to_dense": lambda function, x: function([[0, 1], [2, 0]], [3, 4], x[0, :2], x[1, 0]),
    "tf.compat.v1.sparse_split": lambda function, x: [
        tf.sparse.to_dense(each) for each in function(sp_input=_sparse(x), num_split=2, axis=1)
    ],
    "tf.compat.v1.sparse_add": lambda function, x: tf.sparse.to_dense(function(_sparse(x), _other(x))),
    "tf.CriticalSection": _held,
    "tf.Module": _module,
    "tf.autodiff.ForwardAccumulator": _forward,
    "tf.broadcast_static_shape": lambda function, x: tf.constant(
        function(x.shape, tf.TensorShape([5, 1, 4])).as_list()
    ),
    "tf.case": _branches,
    "tf.compat.as_bytes": _text("aü"),
    "tf.compat.as_str": lambda function, x: tf.constant(function("aü".encode())),
    "tf.compat.as_str_any": lambda function, x: tf.constant(function(12)),
    "tf.compat.as_text": lambda function, x: tf.constant(function("aü".encode())),
    "tf.compat.dimension_at_index": lambda function, x: tf.constant(function(x.shape, 1).value),
    "tf.compat.forward_compatible": lambda function, x: tf.constant([function(2020, 1, 1), function(2999, 1, 1)]),
    "tf.compat.path_to_str": _text("folder/file"),
    "tf.compat.v1.bincount": lambda function, x: function(tf.constant([1, 2, 1]), weights=x[0, :3]),
    "tf.compat.v1.case": _branches,
    "tf.compat.v1.data.get_output_shapes": lambda function, x: tf.constant(
        function(tf.data.Dataset.from_tensor_slices(x)).as_list()
    ),
    "tf.compat.v1.data.get_output_types": lambda function, x: tf.cast(
        10 * x, function(tf.data.Dataset.from_tensor_slices(tf.range(3)))
    ),
    "tf.compat.v1.manip.reshape": lambda function, x: function(x, [2, 6]),
    "tf.compat.v1.nn.embedding_lookup_sparse": lambda function, x: function(x, _ids(), None, combiner="sum"),
    "tf.compat.v1.nn.safe_embedding_lookup_sparse": lambda function, x: function([x], _ids(), None),
    "tf.compat.v1.nn.weighted_moments": lambda function, x: function(x, [0], x * x),
    "tf.compat.v1.reverse_sequence": lambda function, x: function(x, [2, 3, 1], seq_axis=1, batch_axis=0),
    "tf.compat.v1.space_to_batch": lambda function, x: function(sized(x, 1, 4, 4, 1), [[0, 0], [0, 0]], 2),
    "tf.compat.v1.string_split": lambda function, x: tf.sparse.to_dense(
        function(tf.constant(["a b", "c"])), default_value=""
    ),
    "tf.complex": lambda function, x: function(x, x * x),
    "tf.debugging.is_numeric_tensor": lambda function, x: tf.constant([function(x), function(tf.constant("a"))]),
    "tf.edit_distance": lambda function, x: function(
        tf.SparseTensor([[0, 0], [0, 1]], whole(5, 7), [1, 2]),
        tf.SparseTensor([[0, 0], [0, 1], [0, 2]], whole(5, 6, 7), [1, 3]),
    ),
    "tf.experimental.dlpack.from_dlpack": lambda function, x: function(tf.experimental.dlpack.to_dlpack(x)),
    "tf.experimental.dlpack.to_dlpack": lambda function, x: tf.experimental.dlpack.from_dlpack(function(x)),
    "tf.image.grayscale_to_rgb": lambda function, x: function(x[:, :, None]),
    "tf.image.random_contrast": lambda function, x: function(_image(x), 0.5, 0.9),
    "tf.image.random_saturation": lambda function, x: function(_image(x), 0.5, 0.9),
    "tf.image.sample_distorted_bounding_box": lambda function, x: function(
        [8, 8, 3], tf.constant([[[0.1, 0.1, 0.8, 0.9]]]), seed=1, min_object_covered=0.1
    )[1],
    "tf.image.stateless_random_contrast": lambda function, x: function(_image(x), 0.5, 0.9, [1, 2]),
    "tf.image.stateless_random_saturation": lambda function, x: function(_image(x), 0.5, 0.9, [1, 2]),
    "tf.image.stateless_sample_distorted_bounding_box": lambda function, x: function(
        [8, 8, 3], tf.constant([[[0.1, 0.1, 0.8, 0.9]]]), [1, 2], 0.1
    ),
    "tf.linalg.lu_matrix_inverse": lambda function, x: function(*_factors(x)),
    "tf.linalg.lu_reconstruct": lambda function, x: function(*_factors(x)),
    "tf.linalg.lu_solve": lambda function, x: function(*_factors(x), x),
    "tf.lookup.StaticVocabularyTable": _vocabulary,
    "tf.lookup.experimental.DenseHashTable": _dense_table,
    "tf.lookup.experimental.MutableHashTable": _mutable_table,
    "tf.make_ndarray": lambda function, x: tf.constant(function(tf.make_tensor_proto(x))),
    "tf.make_tensor_proto": lambda function, x: tf.constant(tf.make_ndarray(function(x))),
    "tf.nest.assert_same_structure": _same_structure,
    "tf.nn.atrous_conv2d": lambda function, x: function(sized(x, 1, 5, 5, 2), sized(x, 2, 2, 2, 3), 2, "VALID"),
    "tf.nn.conv1d_transpose": lambda function, x: function(sized(x, 1, 4, 2), sized(x, 2, 3, 2), [1, 8, 3], 2),
    "tf.nn.conv3d_transpose": lambda function, x: function(
        sized(x, 1, 2, 2, 2, 2), sized(x, 2, 2, 2, 1, 2), [1, 4, 4, 4, 1], 2
    ),
    "tf.nn.depthwise_conv2d_backprop_filter": lambda function, x: function(
        sized(x, 1, 4, 4, 2), [2, 2, 2, 1], sized(x, 1, 3, 3, 2), [1, 1, 1, 1], "VALID"
    ),
    "tf.nn.depthwise_conv2d_backprop_input": lambda function, x: function(
        [1, 4, 4, 2], sized(x, 2, 2, 2, 1), sized(x, 1, 3, 3, 2), [1, 1, 1, 1], "VALID"
    ),
    "tf.nn.dilation2d": lambda function, x: function(
        sized(x, 1, 4, 4, 2), sized(x, 2, 2, 2), [1, 1, 1, 1], "VALID", "NHWC", [1, 1, 1, 1]
    ),
    "tf.nn.embedding_lookup_sparse": lambda function, x: function(x, _ids(), None, combiner="sum"),
    "tf.nn.erosion2d": lambda function, x: function(
        sized(x, 1, 4, 4, 2), sized(x, 2, 2, 2), [1, 1, 1, 1], "VALID", "NHWC", [1, 1, 1, 1]
    ),
    "tf.nn.log_poisson_loss": lambda function, x: function(x, x * x, compute_full_loss=True),
    "tf.nn.normalize_moments": lambda function, x: function(tf.constant(4, x.dtype), x[0], x[1] + 2, None),
    "tf.nn.safe_embedding_lookup_sparse": lambda function, x: function(x, _ids()),
    "tf.nn.weighted_moments": lambda function, x: function(x, [0], x * x),
    "tf.print": _printed,
    "tf.quantization.fake_quant_with_min_max_vars_per_channel": lambda function, x: function(x, -x[0], x[1]),
    "tf.quantization.fake_quant_with_min_max_vars_per_channel_gradient": lambda function, x: function(
        x, x, -x[0], x[1]
    ),
    "tf.queue.FIFOQueue": _queue(),
    "tf.queue.PaddingFIFOQueue": _queue(),
    "tf.queue.PriorityQueue": _by_priority,
    "tf.queue.RandomShuffleQueue": _queue(min_after_dequeue=0),
    "tf.ragged.map_flat_values": lambda function, x: function(lambda values: values * 2, _ragged(x)).to_tensor(),
    "tf.ragged.row_splits_to_segment_ids": lambda function, x: function(whole(0, 2, 2, 3)),
    "tf.random.Generator": _made_generator,
    "tf.random.create_rng_state": lambda function, x: function(5, "philox"),
    "tf.random.get_global_generator": _global_generator,
    "tf.random.set_global_generator": _set_generator,
    "tf.random.set_seed": same_draws,
    "tf.random.stateless_binomial": lambda function, x: function([3, 1], [1, 2], x[0, :1] + 9, x[0, 1:2]),
    "tf.random_index_shuffle": lambda function, x: function(3, [1, 2, 3], 9),
    "tf.recompute_grad": _with_gradient,
    "tf.grad_pass_through": _with_gradient,
    "tf.register_tensor_conversion_function": _converted,
    "tf.required_space_to_batch_paddings": lambda function, x: function([5, 4], [2, 3]),
    "tf.reverse_sequence": lambda function, x: function(x, [2, 3, 1], seq_axis=1, batch_axis=0),
    "tf.sets.size": lambda function, x: function(_ids()),
    "tf.signal.inverse_stft": lambda function, x: function(tf.signal.stft(sized(x, 12), 4, 2), 4, 2),
    "tf.signal.inverse_stft_window_fn": lambda function, x: function(2)(4, dtype=x.dtype),
    "tf.signal.inverse_mdct": lambda function, x: function(tf.signal.mdct(sized(x, 12), 4)),
    "tf.signal.linear_to_mel_weight_matrix": lambda function, x: function(4, 9, 8000.0, 100.0, 3000.0),
    "tf.signal.mfccs_from_log_mel_spectrograms": lambda function, x: function(tf.math.log(x)),
    "tf.sparse.add": lambda function, x: tf.sparse.to_dense(function(_sparse(x), _other(x))),
    "tf.sparse.eye": lambda function, x: tf.sparse.to_dense(function(3, 4, x.dtype)),
    "tf.sparse.fill_empty_rows": lambda function, x: tf.sparse.to_dense(
        function(tf.SparseTensor([[0, 1]], x[0, :1], [3, 4]), x[1, 1])[0]
    ),
    "tf.sparse.map_values": lambda function, x: tf.sparse.to_dense(function(tf.square, _sparse(x))),
    "tf.sparse.mask": lambda function, x: function(tf.IndexedSlices(x, tf.constant([5, 6, 7])), [6]).values,
    "tf.sparse.retain": lambda function, x: tf.sparse.to_dense(function(_sparse(x), [True, False, True])),
    "tf.sparse.slice": lambda function, x: tf.sparse.to_dense(function(_sparse(x), [0, 0], [2, 4])),
    "tf.sparse.split": lambda function, x: [tf.sparse.to_dense(each) for each in function(_sparse(x), 2, 1)],
    "tf.strings.format": lambda function, x: function("a {} b {}", (tf.range(3), tf.constant("c"))),
    "tf.strings.to_hash_bucket_strong": lambda function, x: function(tf.constant(["a", "b"]), 7, [1, 2]),
    "tf.switch_case": lambda function, x: function(tf.constant(1), [lambda: x + 1, lambda: x * 2]),
    "tf.train.ExponentialMovingAverage": _averaged,
    "tf.type_spec_from_value": lambda function, x: tf.constant(function(x).shape.as_list()),
    "tf.variable_creator_scope": _created,
}
