"""tensorflow-2.21.0-cpu: Keras' product of uint8 matrices saturates once XLA compiles it."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

x = tf.constant([[16, 1]], tf.uint8)
y = tf.constant([[16], [1]], tf.uint8)
print("eager", tf.keras.ops.matmul(x, y).numpy().tolist())
print("XLA  ", tf.function(tf.keras.ops.matmul, jit_compile=True)(x, y).numpy().tolist())
