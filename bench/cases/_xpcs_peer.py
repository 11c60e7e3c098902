"""The peer of xpcs: the model in JAX, jit and jacfwd in double precision, as the original has it.

Nine parameters: one contrast and one offset for all angles, then D0, alpha, D_offset, gamma_dot_t0,
beta, gamma_dot_t_offset, phi0 (static: five). The original evaluates whole matrices, both halves;
`half=True` is the same on the pairs i < j alone, which is fairer to JAX than the original is.
"""

import functools

import numpy as np


@functools.cache
def library():
    """JAX in double precision; imported when first needed: other peers set it up their way."""
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax


class Peer:
    """Residuals, Jacobian and normal equations of one problem, compiled once."""

    def __init__(self, c2, phi, q, dt, gap, sigma, *, n_param=9, half=False, dtype="float64"):
        jax = library()
        jnp = jax.numpy
        kind = jnp.dtype(dtype)
        n = c2.shape[-1]
        t = jnp.asarray((np.arange(n) + 1) * dt, kind)
        radian = np.pi / 180
        if half:
            i, j = np.triu_indices(n, 1)
            y = jnp.asarray(c2[:, i, j], kind)
            first, second = jnp.asarray(i), jnp.asarray(j)
            weight = jnp.asarray(1 / sigma, kind)
        else:
            y = jnp.asarray(c2, kind)
            # Points on the diagonal count nothing.
            weight = jnp.asarray((1 - np.eye(n)) / sigma, kind)
        phi_r = jnp.asarray(phi * radian, kind)

        def cumulative(rate):
            return jnp.concatenate([jnp.zeros(1, kind),
                                    jnp.cumsum(0.5 * (rate[1:] + rate[:-1]))])

        def between(sums):
            return sums[second] - sums[first] if half else jnp.abs(sums[None, :] - sums[:, None])

        def rate(amplitude, exponent, offset):
            return jnp.maximum(amplitude * t**exponent + offset, 1e-10)

        def residual(x):
            m = jnp.exp(-(q**2) * dt * between(cumulative(rate(*x[2:5]))))[None]
            if n_param == 9:
                strain = between(cumulative(rate(*x[5:8])))
                factor = 0.5 / np.pi * q * gap * dt * jnp.cos(x[8] * radian - phi_r)
                z = factor.reshape((-1,) + (1,) * strain.ndim) * strain
                small = jnp.abs(z) < 1e-4
                safe = jnp.where(small, 1.0, z)
                s = jnp.where(small, 1 - z**2 / 6, jnp.sin(safe) / safe)
                m = m * s**4
            return (x[1] + x[0] * m - y) * weight

        def normal(x):
            r = residual(x)
            jacobian = jax.jacfwd(residual)(x).reshape(-1, n_param)
            r = r.reshape(-1)
            return 0.5 * r @ r, jacobian.T @ r, jacobian.T @ jacobian

        self.residual = jax.jit(lambda x: residual(x).reshape(-1))
        self.jacobian = jax.jit(lambda x: jax.jacfwd(residual)(x).reshape(-1, n_param))
        self._normal = jax.jit(normal)
        self.kind = kind
        self.count = 1 if half else 2  # how often a measurement counts

    def normal(self, x):
        """Cost, gradient and matrix at x as NumPy arrays; waits until they are there."""
        found = self._normal(library().numpy.asarray(x, self.kind))
        return tuple(np.asarray(value) / self.count for value in found)


def eliminated(cost, gradient, matrix):
    """The same with the first two, contrast and offset, eliminated: what ours gives."""
    head, tail = slice(0, 2), slice(2, None)
    across = matrix[tail, head]
    reduced = matrix[tail, tail] - across @ np.linalg.solve(matrix[head, head], across.T)
    return cost, gradient[tail], reduced
