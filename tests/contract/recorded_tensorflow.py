"""A small program of TensorFlow for the recorder: tf.function, GradientTape, layer and optimizer, an exception."""

from __future__ import annotations

import threading
from typing import Any

import tensorflow as tf

layer = tf.keras.layers.Dense(3, activation="tanh")
optimizer = tf.keras.optimizers.SGD(0.1)


@tf.function
def step(inputs: Any) -> Any:
    with tf.GradientTape() as tape:
        hidden = layer(inputs)
        if tf.reduce_sum(hidden) > 1e6:
            hidden = tf.zeros_like(hidden)
        loss = tf.reduce_mean(tf.square(hidden * 0.5))
    gradients = tape.gradient(loss, layer.trainable_variables)
    # Python 3.8 has no strict=.
    optimizer.apply_gradients(list(map(lambda *pair: pair, gradients, layer.trainable_variables)))
    return tf.reshape(hidden, [tf.shape(hidden)[0], -1, 1])


def main() -> None:
    inputs = tf.random.stateless_normal([8, 4], seed=[1, 2])
    layer(inputs)
    for _ in range(3):
        step(inputs)
    sizes = tf.constant([4, 8])
    turned = tf.transpose(tf.reshape(inputs, sizes)[:, ::2], perm=tf.constant([1, 0]))
    tf.map_fn(tf.sin, turned)
    tf.linalg.matmul(turned, turned, transpose_b=True) ** 2.0
    tf.strings.length(tf.constant(["text"]))
    tf.cast(turned, tf.bfloat16)
    tf.add(tf.convert_to_tensor([0.98765, 2.0]), 1.0)
    tf.add([0.98765] * 9, 1.0)
    try:
        tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))
    except tf.errors.InvalidArgumentError:
        print("refused")
    thread = threading.Thread(target=lambda: tf.sort(inputs, axis=0))
    thread.start()
    thread.join()
    print(f"sum {float(tf.reduce_sum(tf.abs(layer.kernel))) > 0}")


if __name__ == "__main__":
    main()
