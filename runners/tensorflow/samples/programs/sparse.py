"""Operations of ``tf.raw_ops`` on sparse and ragged tensors, matrices in rows (CSR), and bins.

Each entry calls its operation with parts of a tensor of three rows and four columns.
"""

from __future__ import annotations

from typing import Any, Mapping

import tensorflow as tf

from runners.tensorflow.samples.programs.lines import Lines, texts, whole

_raw = tf.raw_ops


def _places(second: bool = False) -> Any:
    """The places of a sparse matrix of three rows and four columns."""
    return whole([0, 3], [1, 1], [2, 2]) if second else whole([0, 1], [1, 0], [2, 3])


def _sparse(x: Any, prefix: str = "", names: str = "indices values shape", second: bool = False) -> Mapping[str, Any]:
    """A sparse matrix, by the names of its three parts."""
    parts = (_places(second), x[1 if second else 0, :3], whole(3, 4))
    return {f"{prefix}{name}": part for name, part in zip(names.split(), parts)}


def _two_sparse(x: Any) -> Mapping[str, Any]:
    return {**_sparse(x, "a_"), **_sparse(x, "b_", second=True)}


def _list_of_sparse(x: Any) -> Mapping[str, Any]:
    parts = [_sparse(x), _sparse(x, second=True)]
    return {name: [part[name[:-1] if name == "shapes" else name] for part in parts] for name in _LISTS}


_LISTS = ("indices", "values", "shapes")


def _sparse_texts(prefix: str = "") -> Mapping[str, Any]:
    return {"indices": [_places()], "values": [texts(["a", "b", "c"])], "shapes": [whole(3, 4)], "dense_inputs": []}


def _numbers_of(prefix: str, second: bool = False) -> Mapping[str, Any]:
    """A sparse set of whole numbers for each row."""
    parts = {"indices": whole([0, 0], [0, 1], [1, 0]), "values": whole(5, 7, 5), "shape": whole(2, 2)}
    if second:
        parts = {"indices": whole([0, 0], [1, 0], [1, 1]), "values": whole(7, 2, 5), "shape": whole(2, 2)}
    return {f"{prefix}{name}": part for name, part in parts.items()}


_SETS = {"set_operation": "intersection"}


def _csr(x: Any) -> Any:
    """A sparse square matrix in rows."""
    places = whole([0, 0], [0, 2], [1, 1], [2, 0], [2, 2])
    values = tf.stack([x[0, 0] + 4, x[0, 1], x[1, 1] + 4, x[0, 1], x[2, 2] + 4])
    return _raw.SparseTensorToCSRSparseMatrix(indices=places, values=values, dense_shape=whole(3, 3))


def _ragged(x: Any) -> Mapping[str, Any]:
    return {"rt_nested_splits": [whole(0, 2, 3)], "rt_dense_values": x}


def _from_variant(function: Any, x: Any) -> Any:
    encoded = _raw.RaggedTensorToVariant(batched_input=False, **_ragged(x))
    return function(encoded_ragged=encoded, input_ragged_rank=1, output_ragged_rank=1, Tvalues=x.dtype)


def _to_variant(function: Any, x: Any) -> Any:
    encoded = function(batched_input=False, **_ragged(x))
    settings = {"input_ragged_rank": 1, "output_ragged_rank": 1, "Tvalues": x.dtype}
    return _raw.RaggedTensorFromVariant(encoded_ragged=encoded, **settings)


def _sparse_kept(function: Any, x: Any) -> Any:
    """A sparse matrix in a map, and out of it."""
    handle = function(**_sparse(x, "sparse_"), shared_name="kept")
    return _raw.TakeManySparseFromTensorsMap(sparse_handles=[handle], dtype=x.dtype, shared_name="kept")


def _sparse_taken(function: Any, x: Any) -> Any:
    handle = _raw.AddSparseToTensorsMap(**_sparse(x, "sparse_"), shared_name="kept")
    return function(sparse_handles=[handle], dtype=x.dtype, shared_name="kept")


def _serialized(x: Any) -> Any:
    return _raw.SerializeManySparse(**_sparse(x, "sparse_"))


_BINS: Mapping[str, Any] = {"binary_output": False}
_NAMES = "indices values dense_shape"
_REDUCED = "input_indices input_values input_shape"


def _in_rows(lines: Lines) -> Lines:
    """The matrix that is a result in rows, with all its zeros."""
    return lambda function, x: _raw.CSRSparseMatrixToDense(sparse_input=lines(function, x), type=x.dtype)


LINES: Mapping[str, Lines] = {
    "tf.raw_ops.SparseAdd": lambda function, x: function(**_two_sparse(x), thresh=tf.constant(0, x.dtype)),
    "tf.raw_ops.SparseAddGrad": lambda function, x: function(
        backprop_val_grad=x[0, :3], a_indices=_places(), b_indices=_places(), sum_indices=_places()
    ),
    "tf.raw_ops.SparseBincount": lambda function, x: function(
        indices=_places(),
        values=whole(1, 2, 1),
        dense_shape=whole(3, 4),
        size=tf.constant(3, tf.int64),
        weights=x[0, :3],
    ),
    "tf.raw_ops.SparseConcat": lambda function, x: function(**_list_of_sparse(x), concat_dim=0),
    "tf.raw_ops.SparseCountSparseOutput": lambda function, x: function(
        **_BINS, indices=_places(), values=whole(1, 2, 1), dense_shape=whole(3, 4), weights=x[0, :3]
    ),
    "tf.raw_ops.SparseCross": lambda function, x: function(
        **_sparse_texts(), hashed_output=True, num_buckets=7, hash_key=5, out_type=tf.int64, internal_type=tf.string
    ),
    "tf.raw_ops.SparseCrossHashed": lambda function, x: function(
        **_sparse_texts(), num_buckets=7, strong_hash=False, salt=whole(1, 2)
    ),
    "tf.raw_ops.SparseCrossV2": lambda function, x: function(**_sparse_texts(), sep="-"),
    "tf.raw_ops.SparseDenseCwiseAdd": lambda function, x: function(**_sparse(x, "sp_"), dense=x),
    "tf.raw_ops.SparseDenseCwiseDiv": lambda function, x: function(**_sparse(x, "sp_"), dense=x),
    "tf.raw_ops.SparseDenseCwiseMul": lambda function, x: function(**_sparse(x, "sp_"), dense=x),
    "tf.raw_ops.SparseFillEmptyRows": lambda function, x: function(
        indices=whole([0, 1], [2, 3]), values=x[0, :2], dense_shape=whole(3, 4), default_value=x[1, 1]
    ),
    "tf.raw_ops.SparseReduceMax": lambda function, x: function(**_sparse(x, names=_REDUCED), reduction_axes=[0]),
    "tf.raw_ops.SparseReduceMaxSparse": lambda function, x: function(**_sparse(x, names=_REDUCED), reduction_axes=[0]),
    "tf.raw_ops.SparseReduceSum": lambda function, x: function(**_sparse(x, names=_REDUCED), reduction_axes=[0]),
    "tf.raw_ops.SparseReduceSumSparse": lambda function, x: function(**_sparse(x, names=_REDUCED), reduction_axes=[0]),
    "tf.raw_ops.SparseReorder": lambda function, x: function(
        input_indices=_places()[::-1], input_values=x[0, :3], input_shape=whole(3, 4)
    ),
    "tf.raw_ops.SparseReshape": lambda function, x: function(
        input_indices=_places(), input_shape=whole(3, 4), new_shape=whole(2, 6)
    ),
    "tf.raw_ops.SparseSlice": lambda function, x: function(**_sparse(x), start=whole(0, 0), size=whole(2, 4)),
    "tf.raw_ops.SparseSliceGrad": lambda function, x: function(
        backprop_val_grad=x[0, :2], input_indices=_places(), input_start=whole(0, 0), output_indices=_places()[:2]
    ),
    "tf.raw_ops.SparseSoftmax": lambda function, x: function(**_sparse(x, "sp_")),
    "tf.raw_ops.SparseSparseMaximum": lambda function, x: function(**_two_sparse(x)),
    "tf.raw_ops.SparseSparseMinimum": lambda function, x: function(**_two_sparse(x)),
    "tf.raw_ops.SparseSplit": lambda function, x: function(
        **_sparse(x), split_dim=tf.constant(1, tf.int64), num_split=2
    ),
    "tf.raw_ops.SparseTensorDenseAdd": lambda function, x: function(**_sparse(x, "a_"), b=x),
    "tf.raw_ops.SparseTensorDenseMatMul": lambda function, x: function(**_sparse(x, "a_"), b=tf.transpose(x)),
    "tf.raw_ops.SparseToDense": lambda function, x: function(
        sparse_indices=_places(), output_shape=whole(3, 4), sparse_values=x[0, :3], default_value=x[1, 1]
    ),
    "tf.raw_ops.SparseToSparseSetOperation": lambda function, x: function(
        **_numbers_of("set1_"), **_numbers_of("set2_", second=True), **_SETS
    ),
    "tf.raw_ops.DenseToSparseSetOperation": lambda function, x: function(
        **_numbers_of("set2_", second=True), **_SETS, set1=whole([5, 7], [5, 1])
    ),
    "tf.raw_ops.DenseToDenseSetOperation": lambda function, x: function(
        **_SETS, set1=whole([5, 7], [5, 1]), set2=whole([7, 2], [1, 5])
    ),
    "tf.raw_ops.SetSize": lambda function, x: function(**_numbers_of("set_")),
    "tf.raw_ops.SerializeManySparse": lambda function, x: _raw.DeserializeManySparse(
        serialized_sparse=function(**_sparse(x, "sparse_")), dtype=x.dtype
    ),
    "tf.raw_ops.DeserializeManySparse": lambda function, x: function(serialized_sparse=_serialized(x), dtype=x.dtype),
    "tf.raw_ops.DeserializeSparse": lambda function, x: function(serialized_sparse=_serialized(x), dtype=x.dtype),
    "tf.raw_ops.CSRSparseMatrixComponents": lambda function, x: function(
        csr_sparse_matrix=_csr(x), index=0, type=x.dtype
    ),
    "tf.raw_ops.CSRSparseMatrixToDense": lambda function, x: function(sparse_input=_csr(x), type=x.dtype),
    "tf.raw_ops.CSRSparseMatrixToSparseTensor": lambda function, x: function(sparse_matrix=_csr(x), type=x.dtype),
    "tf.raw_ops.DenseToCSRSparseMatrix": _in_rows(lambda function, x: function(dense_input=x, indices=_places())),
    "tf.raw_ops.SparseMatrixMatMul": lambda function, x: function(a=_csr(x), b=x),
    "tf.raw_ops.SparseMatrixNNZ": lambda function, x: function(sparse_matrix=_csr(x)),
    "tf.raw_ops.SparseMatrixOrderingAMD": lambda function, x: function(input=_csr(x)),
    "tf.raw_ops.SparseMatrixSparseCholesky": _in_rows(
        lambda function, x: function(input=_csr(x), permutation=[0, 1, 2], type=x.dtype)
    ),
    "tf.raw_ops.SparseMatrixSparseMatMul": _in_rows(
        lambda function, x: function(a=_csr(x), b=_csr(x + 1), type=x.dtype)
    ),
    "tf.raw_ops.SparseMatrixTranspose": _in_rows(lambda function, x: function(input=_csr(x), type=x.dtype)),
    "tf.raw_ops.SparseTensorToCSRSparseMatrix": _in_rows(lambda function, x: function(**_sparse(x, names=_NAMES))),
    "tf.raw_ops.AddSparseToTensorsMap": _sparse_kept,
    "tf.raw_ops.TakeManySparseFromTensorsMap": _sparse_taken,
    "tf.raw_ops.RaggedBincount": lambda function, x: function(
        splits=whole(0, 2, 3), values=[1, 2, 1], size=3, weights=x[0, :3]
    ),
    "tf.raw_ops.RaggedCountSparseOutput": lambda function, x: function(
        **_BINS, splits=whole(0, 2, 3), values=[1, 2, 1], weights=x[0, :3]
    ),
    "tf.raw_ops.RaggedCross": lambda function, x: function(
        ragged_values=[texts(["a", "b", "c"])],
        ragged_row_splits=[whole(0, 2, 3)],
        sparse_indices=[],
        sparse_values=[],
        sparse_shape=[],
        input_order="RD",
        dense_inputs=[texts([["d"], ["e"]])],
        hashed_output=False,
        num_buckets=0,
        hash_key=1,
        out_values_type=tf.string,
        out_row_splits_type=tf.int64,
    ),
    "tf.raw_ops.RaggedFillEmptyRows": lambda function, x: function(
        value_rowids=whole(0, 2, 2), values=x[0, :3], nrows=tf.constant(4, tf.int64), default_value=x[1, 1]
    ),
    "tf.raw_ops.RaggedGather": lambda function, x: function(
        params_nested_splits=[whole(0, 2, 3)], params_dense_values=x, indices=[1, 0], OUTPUT_RAGGED_RANK=1
    ),
    "tf.raw_ops.RaggedTensorToSparse": lambda function, x: function(**_ragged(x)),
    "tf.raw_ops.RaggedTensorFromVariant": _from_variant,
    "tf.raw_ops.RaggedTensorToVariant": _to_variant,
    "tf.raw_ops.RaggedTensorToTensor": lambda function, x: function(
        shape=whole(-1, -1),
        values=x[0, :3],
        default_value=x[1, 1],
        row_partition_tensors=[whole(0, 2, 3)],
        row_partition_types=["ROW_SPLITS"],
    ),
    "tf.raw_ops.DenseBincount": lambda function, x: function(input=[1, 2, 1, 0], size=3, weights=x[0]),
    "tf.raw_ops.DenseCountSparseOutput": lambda function, x: function(**_BINS, values=[1, 2, 1, 0], weights=x[0]),
}
