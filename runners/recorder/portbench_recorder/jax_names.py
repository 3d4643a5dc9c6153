"""JAX: which names are recorded, and under which public name an operator or a method of an array stands."""

from __future__ import annotations

MODULES = (
    "jax.numpy",
    "jax.numpy.linalg",
    "jax.numpy.fft",
    "jax.lax",
    "jax.lax.linalg",
    "jax.nn",
    "jax.ops",
    "jax.random",
    "jax.image",
    "jax.scipy.cluster.vq",
    "jax.scipy.fft",
    "jax.scipy.integrate",
    "jax.scipy.interpolate",
    "jax.scipy.linalg",
    "jax.scipy.ndimage",
    "jax.scipy.signal",
    "jax.scipy.spatial.transform",
    "jax.scipy.special",
)
STATISTICS = "jax.scipy.stats"
"""Its submodules are recorded, one for each distribution."""

FOLDERS = ("image", "lax", "nn", "numpy", "ops", "random", "scipy", "third_party")
"""How the paths of JAX's own functions begin, below its sources."""

CALLERS = ("lax/control_flow", "numpy/vectorize")
"""Those that call functions of the program."""

HELPERS = ("broadcast", "moveaxis", "matchaxis")
"""Functions of its transformations that call public functions."""


def _below(home: str, names: str) -> set[str]:
    return {f"{home}.{name}" for name in names.split()}


TRANSFORMATIONS = {
    *_below("jax.lax", "associative_scan cond custom_linear_solve custom_root fori_loop map platform_dependent scan"),
    *_below("jax.lax", "switch while_loop composite"),
    *_below("jax.numpy", "apply_along_axis apply_over_axes fromfunction frompyfunc piecewise vectorize"),
}
"""They call functions of the program, whose calls are recorded, and compute nothing else."""

LEFT_OUT = {
    *TRANSFORMATIONS,
    *_below("jax.numpy", "broadcast_shapes can_cast dtype finfo get_printoptions iinfo isdtype iscomplexobj isrealobj"),
    *_below("jax.numpy", "isscalar issubdtype iterable load ndim printoptions promote_types result_type save savez"),
    *_below("jax.numpy", "set_printoptions shape size array_repr array_str"),
    *_below("jax.lax", "after_all axis_size broadcast_shapes broadcast_to_rank conv_dimension_numbers create_token"),
    *_below("jax.lax", "dtype optimization_barrier padtype_to_pads stop_gradient with_sharding_constraint"),
    *_below("jax.lax", "conv_general_permutations conv_general_shape_tuple conv_shape_tuple"),
    *_below("jax.lax", "conv_transpose_shape_tuple reduce_window_shape_tuple itertools"),
    *_below("jax.lax", "naryop naryop_dtype_rule standard_abstract_eval standard_naryop standard_primitive"),
    *_below("jax.lax", "standard_unop unop unop_dtype_rule scan_bind tie_in"),
    *_below("jax.nn", "get_scaled_dot_general_config"),
    *_below("jax.random", "clone default_prng_impl key_dtype key_impl"),
}
"""They compute nothing on the device: a program asks or shows something with them, or calls its own functions."""

OF_DATA = {"jax.numpy.array", "jax.numpy.asarray", "jax.device_put"}
"""They make an array of Python's numbers."""

COLLECTIVES = {
    *_below("jax.lax", "all_gather all_to_all axis_index pbroadcast pcast pdot pmax pmean pmin ppermute pshuffle psum"),
    *_below("jax.lax", "psum_scatter pswapaxes ragged_all_to_all"),
}
"""They work on an axis of a transformation around them."""

OPERATORS = {
    f"__{name}__": f"jax.numpy.{public}"
    for name, public in (
        ("add", "add"),
        ("sub", "subtract"),
        ("mul", "multiply"),
        ("truediv", "true_divide"),
        ("mod", "mod"),
        ("floordiv", "floor_divide"),
        ("pow", "power"),
        ("matmul", "matmul"),
        ("and", "bitwise_and"),
        ("or", "bitwise_or"),
        ("xor", "bitwise_xor"),
        ("lshift", "left_shift"),
        ("rshift", "right_shift"),
    )
}
SWAPPED = {f"__r{name[2:]}": public for name, public in OPERATORS.items()}
OPERATORS.update(
    {
        f"__{name}__": f"jax.numpy.{public}"
        for name, public in (
            ("eq", "equal"),
            ("ne", "not_equal"),
            ("lt", "less"),
            ("le", "less_equal"),
            ("gt", "greater"),
            ("ge", "greater_equal"),
            ("neg", "negative"),
            ("abs", "abs"),
            ("invert", "invert"),
            ("pos", "positive"),
        )
    }
)

METHODS = (
    *("all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "choose", "clip", "compress"),
    *("conj", "conjugate", "cumprod", "cumsum", "diagonal", "dot", "flatten", "max", "mean", "min"),
    *("nonzero", "prod", "ptp", "ravel", "repeat", "reshape", "round", "searchsorted", "sort", "squeeze"),
    *("std", "sum", "swapaxes", "take", "trace", "transpose", "var", "view"),
)
PROPERTIES = {
    "T": "jax.numpy.transpose",
    "mT": "jax.numpy.matrix_transpose",
    "real": "jax.numpy.real",
    "imag": "jax.numpy.imag",
}
UPDATES = ("set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max", "apply", "get")
"""Methods of ``x.at[index]``."""
