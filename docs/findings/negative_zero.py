"""tensorflow-2.21.0-cpu: once -0.0 was used, 0.0 is negative."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

tf.constant(-0.0)
print("1 / 0.0 =", (1.0 / tf.constant(0.0)).numpy())
