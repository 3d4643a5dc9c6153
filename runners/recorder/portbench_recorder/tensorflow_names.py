"""TensorFlow: which names are recorded, and under which public name an operator stands."""

from __future__ import annotations

MODULES = (
    *("", "math", "linalg", "nn", "signal", "random", "image", "sparse", "bitwise", "ragged", "sets", "strings"),
    *("audio", "quantization", "nn.experimental", "random.experimental", "linalg.experimental"),
    *("experimental.numpy", "raw_ops"),
)

LEFT_OUT = {
    *("Assert", "assert_equal", "assert_greater", "assert_less", "assert_rank", "broadcast_static_shape", "case"),
    *("clear_losses", "cond", "constant", "control_dependencies", "convert_to_tensor", "custom_gradient", "device"),
    *("ensure_shape", "executing_eagerly", "foldl", "foldr", "function", "get_global_generator", "get_logger"),
    *("get_static_value", "grad_pass_through", "gradients", "group", "hessians", "identity", "identity_n"),
    *("init_scope", "inside_function", "is_symbolic_tensor", "is_tensor", "iterable", "load_library"),
    *("load_op_library", "make_ndarray", "make_tensor_proto", "map_fn", "name_scope", "no_gradient", "no_op"),
    *("nondifferentiable_batch_function", "numpy_function", "print", "py_function", "recompute_grad"),
    *("register_tensor_conversion_function", "scan", "set_seed", "set_global_generator", "shape_n"),
    *("stop_gradient", "switch_case", "tuple", "type_spec_from_value", "variable_creator_scope", "vectorized_map"),
    *("as_dtype", "get_current_name_scope", "zeros_initializer"),
    *("while_loop", "create_rng_state", "experimental_enable_numpy_behavior", "finfo", "iinfo", "issubdtype"),
    *("result_type", "promote_types", "isscalar", "ndim", "size", "shape"),
}
"""They make no tensor, change how a program runs, call functions of the program, or only wrap what they are given."""

OF_DATA = {"tf.convert_to_tensor"}
"""They make a tensor of Python's numbers."""

KEPT = {"tf.shape", "tf.size"}
"""Functions whose last name is left out elsewhere."""

_BINARY = {
    "add": "tf.math.add",
    "sub": "tf.math.subtract",
    "mul": "tf.math.multiply",
    "truediv": "tf.math.truediv",
    "floordiv": "tf.math.floordiv",
    "mod": "tf.math.floormod",
    "pow": "tf.math.pow",
    "matmul": "tf.linalg.matmul",
}
OPERATORS = {f"__{name}__": public for name, public in _BINARY.items()}
SWAPPED = {f"__r{name}__": public for name, public in _BINARY.items()}
OPERATORS.update(
    {
        "__lt__": "tf.math.less",
        "__le__": "tf.math.less_equal",
        "__gt__": "tf.math.greater",
        "__ge__": "tf.math.greater_equal",
        "__neg__": "tf.math.negative",
        "__abs__": "tf.math.abs",
        "__getitem__": "tf.Tensor.__getitem__",
    }
)

SIZES = {
    *("axes", "axis", "begin", "begin_", "block_shape", "concat_dim", "crops", "depth", "dims", "end", "fft_length"),
    *("input_sizes", "k", "multiples", "num", "num_or_size_splits", "num_segments", "output_shape", "paddings", "perm"),
    *("pad_width", "repeats", "shape", "shift", "size", "size_splits", "start", "limit", "delta", "strides"),
    *("crop_size", "num_samples", "length", "maxlen", "newshape", "out_backprop_sizes"),
}
"""Parameters whose whole numbers say what shape something has. They are kept as they are."""

FOLDERS = ("ops", "framework", "util", "data", "training", "saved_model", "checkpoint", "module")
"""TensorFlow's own functions, below its Python sources."""

CALLERS = (
    "ops/cond",
    "ops/control_flow",
    "ops/custom_gradient",
    "ops/functional_ops",
    "ops/map_fn",
    "ops/parallel_for",
)
CALLERS += ("ops/while", "data/ops/map_op")
"""Those that call functions of the program."""
