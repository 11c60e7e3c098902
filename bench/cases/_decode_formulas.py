"""The original's formulas on JAX, for machines where its package does not import.

What its functions compute, in the order in which they do and in float32: kernels of marks and
places, their product, logarithms, sums over time bins; then a dense filter and smoother. Every
shape is compiled once. Places, transitions and occupancy come from our fitted model.
"""

import functools
import importlib

import numpy as np

EPS = 1e-15
LABEL = "non_local_detector's formulas on jax"


def modules():
    return importlib.import_module("jax"), importlib.import_module("jax.numpy")


def single(x):
    """On the device, in float32."""
    _, jnp = modules()
    return jnp.asarray(np.asarray(x), "float32")


@functools.cache
def joint():
    """Log joint mark intensity of a block of spikes at all places."""
    jax, jnp = modules()

    def kernels(x, at, std):
        z = (x[:, None, :] - at[None, :, :]) / std
        return jnp.exp(-0.5 * jnp.sum(z * z, axis=-1)) / (std * np.sqrt(2 * np.pi)) ** x.shape[1]

    def spikes(marks, encoding_marks, place_kernel, rate, occupancy, std):
        density = kernels(marks, encoding_marks, std) @ place_kernel / len(encoding_marks)
        return jnp.log(jnp.clip(rate * density / occupancy, EPS, None))

    return jax.jit(kernels), jax.jit(spikes)


@functools.cache
def add_up():
    jax, _ = modules()
    return jax.jit(jax.ops.segment_sum, static_argnames="num_segments")


@functools.cache
def hidden_markov():
    """Dense filter and smoother, as scans."""
    jax, jnp = modules()

    def run(initial, matrix, log_likelihood):
        def forward(predicted, row):
            top = jnp.max(row)
            filtered = predicted * jnp.exp(row - top)
            filtered = filtered / jnp.sum(filtered)
            following = filtered @ matrix
            return following, (filtered, following)

        def backward(after, rows):
            filtered, predicted = rows
            ratio = jnp.where(predicted > 0, after / predicted, 0)
            smoothed = filtered * (matrix @ ratio)
            smoothed = smoothed / jnp.sum(smoothed)
            return smoothed, smoothed

        _, (filtered, following) = jax.lax.scan(forward, initial, log_likelihood)
        _, smoothed = jax.lax.scan(backward, filtered[-1], (filtered[:-1], following[:-1]),
                                   reverse=True)
        return jnp.concatenate([smoothed, filtered[-1:]])

    return jax.jit(run)


class Formulas:
    """A fitted model of ours, called as the original's formulas would.

    What a fit leaves is on the device before any call.
    """

    def __init__(self, model, data, position_std, waveform_std, block):
        self.data, self.block = data, block
        self.position_std, self.waveform_std = position_std, waveform_std
        environment = model.environments[0]
        self.inside = np.asarray(environment.is_track_interior_).ravel()
        self.places = single(np.asarray(environment.place_bin_centers_)[self.inside])
        encoding = model.encoding_model_["", 0]
        self.occupancy = single(encoding["occupancy"])
        self.ground = single(encoding["summed_ground_process_intensity"])
        self.rates = np.asarray(encoding["mean_rates"], "float32")
        self.marks = [single(m) for m in data.encoding_marks]
        self.at = [single(np.stack([np.interp(t, data.position_time, x) for x in data.position.T],
                                   axis=1)) for t in data.encoding_times]
        self.n_state = len(model.initial_conditions_) // len(self.inside)
        self.take_states(model)

    def take_states(self, model):
        on_track = np.tile(self.inside, self.n_state)
        index = np.asarray(model.state_ind_)[on_track]
        matrix = np.asarray(model.continuous_state_transitions_)[np.ix_(on_track, on_track)]
        matrix = matrix * np.asarray(model.discrete_state_transitions_)[np.ix_(index, index)]
        self.matrix = single(matrix)
        self.initial = single(np.asarray(model.initial_conditions_)[on_track])

    def electrode(self, e, rows):
        """Add what an electrode's spikes say of every place."""
        _, jnp = modules()
        kernels, spikes = joint()
        d = self.data
        times = d.decoding_times[e]
        mine = (times >= d.time[0]) & (times <= d.time[-1])
        if not mine.any():
            return rows
        place_kernel = kernels(self.at[e], self.places, self.position_std)
        given = single(d.decoding_marks[e][mine])
        values = [spikes(given[i:i + self.block], self.marks[e], place_kernel, self.rates[e],
                         self.occupancy, self.waveform_std)
                  for i in range(0, len(given), self.block)]
        bins = np.digitize(times[mine], d.time[1:-1])
        return rows + add_up()(jnp.concatenate(values), jnp.asarray(bins),
                               num_segments=len(d.time))

    def columns(self):
        """Log likelihood of every state's places; every state of the models here has them all."""
        _, jnp = modules()
        rows = -jnp.broadcast_to(self.ground, (len(self.data.time), len(self.ground)))
        for e in range(len(self.rates)):
            rows = self.electrode(e, rows)
        return jnp.tile(rows, (1, self.n_state))

    def posterior(self):
        """Of all states and bins, NaN off the track."""
        found = np.asarray(hidden_markov()(self.initial, self.matrix, self.columns()))
        full = np.full((len(found), self.n_state, len(self.inside)), np.nan, "float32")
        full[:, :, self.inside] = found.reshape(len(found), self.n_state, -1)
        return full.reshape(len(found), -1)
