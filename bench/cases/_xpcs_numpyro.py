"""The peer of sampling: NumPyro's NUTS on the same marginal posterior, written in JAX.

Priors are truncated normals as ours; contrast and offset of every angle are integrated out with
the same formula, so both draw from one density of eight parameters. The metric is dense and the
target acceptance ours; NumPyro begins at the mean of our draws, in its own unconstrained
coordinates.
"""

import functools
import time

import numpy as np

from cases._xpcs_peer import library

SCALING = {"contrast": (0.5, 0.25), "offset": (1.0, 0.25)}


def log_likelihood(c2, phi, q, dt, gap):
    """A function of theta (7, or 3 without flow) and the noise, compiled with the data."""
    jax = library()
    jnp = jax.numpy
    n = c2.shape[-1]
    i, j = np.triu_indices(n, 1)
    y = c2[:, i, j]
    mean = y.mean(axis=1, keepdims=True)
    y = jnp.asarray(y - mean)
    t = jnp.asarray((np.arange(n) + 1) * dt)
    angle = jnp.asarray(np.deg2rad(phi))
    one, two = SCALING["offset"][1] ** -2, SCALING["contrast"][1] ** -2
    offset = jnp.asarray(SCALING["offset"][0] - mean[:, 0])
    count = y.shape[1]

    def between(amplitude, exponent, shift):
        rate = jnp.maximum(amplitude * t**exponent + shift, 1e-10)
        sums = jnp.concatenate([jnp.zeros(1), jnp.cumsum(0.5 * (rate[1:] + rate[:-1]))])
        return sums[j] - sums[i]

    def flow(theta):
        factor = 0.5 / np.pi * q * gap * dt * jnp.cos(jnp.deg2rad(theta[6]) - angle)
        z = factor[:, None] * between(*theta[3:6])
        small = jnp.abs(z) < 1e-4
        safe = jnp.where(small, 1.0, z)
        return jnp.where(small, 1 - z**2 / 6, jnp.sin(safe) / safe) ** 4

    def value(theta, noise):
        m = jnp.exp(-(q**2) * dt * between(*theta[:3]))
        m = m * flow(theta) if len(theta) > 3 else jnp.broadcast_to(m, y.shape)
        w = noise**-2
        f, ff, fy = m.sum(1), (m * m).sum(1), (m * y).sum(1)
        a, b, c = one + count * w, f * w, two + ff * w
        right = one * offset + y.sum(1) * w, two * SCALING["contrast"][0] + fy * w
        determinant = a * c - b * b
        best = (c * right[0] ** 2 - 2 * b * right[0] * right[1] + a * right[1] ** 2) / determinant
        squares = (y * y).sum(1) * w + one * offset**2
        return jnp.sum(
            -count * jnp.log(noise) - 0.5 * jnp.log(determinant) - 0.5 * (squares - best)
        )

    return value


def sample(data, setup, drawn, n_chain, n_warmup, n_draw):
    """NumPyro's draws of what `drawn`, ours, are of; with steps of all paths and seconds."""
    jax = library()
    import numpyro
    from numpyro import distributions as dist
    from numpyro.infer import MCMC, NUTS, init_to_value

    value = log_likelihood(np.asarray(data.c2), np.asarray(data.phi), **setup)
    scale = 1.5 * drawn.facts["noise_scale"]

    def model():
        theta = jax.numpy.stack([
            numpyro.sample(
                name,
                dist.TruncatedNormal(
                    drawn.prior_mean[k], drawn.prior_sd[k], low=drawn.lower[k],
                    high=drawn.upper[k]
                ),
            )
            for k, name in enumerate(drawn.physical_names)
        ])
        noise = numpyro.sample("noise", dist.HalfNormal(scale))
        numpyro.factor("data", value(theta, noise))

    # A fit without priors may end at a bound, which has no place in such coordinates.
    start = {name: drawn[name].mean() for name in [*drawn.physical_names, "noise"]}
    kernel = NUTS(model, dense_mass=True, target_accept_prob=0.85, max_tree_depth=10,
                  init_strategy=init_to_value(values=start))
    make = functools.partial(MCMC, kernel, num_warmup=n_warmup, num_samples=n_draw,
                             num_chains=n_chain, chain_method="sequential", progress_bar=False)
    begin = time.perf_counter(), time.process_time()
    make(num_warmup=1, num_samples=1, num_chains=1).run(jax.random.PRNGKey(0))
    compiled = time.process_time() - begin[1]  # about: a run compiles for its own numbers, too
    chains = make()
    begin = time.perf_counter(), time.process_time()
    chains.warmup(jax.random.PRNGKey(1), collect_warmup=True, extra_fields=("num_steps",))
    steps = int(np.sum(chains.get_extra_fields()["num_steps"]))
    chains.run(jax.random.PRNGKey(2), extra_fields=("num_steps", "diverging"))
    wall, cpu = time.perf_counter() - begin[0], time.process_time() - begin[1]
    extra = chains.get_extra_fields()
    names = [*drawn.physical_names, "noise"]
    draws = chains.get_samples(group_by_chain=True)
    return {
        "draws": {name: np.asarray(draws[name]) for name in names},
        "steps": int(np.sum(extra["num_steps"])),
        "warmup_steps": steps,
        "diverged": int(np.sum(extra["diverging"])),
        "seconds": wall,
        "cpu": cpu,
        "compile": compiled,
    }
