"""jax-0.12.0.1-cpu: whether a number that is imaginary is true."""

import jax.numpy as jnp
import numpy as np

x = np.array([1j])
print("NumPy", np.all(x), np.any(x))
print("JAX  ", jnp.all(x), jnp.any(x))
