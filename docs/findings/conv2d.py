"""tensorflow-2.21.0-cpu: a convolution of a number ends the process (SIGABRT)."""

import os
import subprocess
import sys

CALL = 'import tensorflow as tf; tf.nn.conv2d(tf.constant(1.0), tf.ones([1, 1, 1, 1]), 1, "SAME")'
variables = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
ended = subprocess.run([sys.executable, "-c", CALL], env=variables, stderr=subprocess.DEVNULL)
print("exit status", ended.returncode)
