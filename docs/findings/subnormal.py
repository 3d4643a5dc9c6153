"""jax-0.12.0.1-cpu: numbers smaller than 1.2e-38 are zero."""

import jax.numpy as jnp
import numpy as np

x = np.float32(1e-40)
print("NumPy log", np.log(x), "sum", x + x)
print("JAX   log", jnp.log(x), "sum", jnp.add(x, x))
