"""Replay events and their shuffles: ours against NumPy with the same formulas.

The specification's size is 500 events of 100 ms over 200 place bins with 1,000 shuffles of each
kind. The row takes fewer of both; the peer, few enough to wait for.
"""

import functools
import time

import numpy as np

from cases._case import Case

WIDTH, BAND, FASTEST, SEED = 0.02, 15.0, 1000.0, 7
N_EVENT, N_SHUFFLE, N_BIN = 100, 100, 200
PEER_EVENT, PEER_SHUFFLE = 4, 10
KINDS = ("column", "field", "time", "marks")


@functools.cache
def prepared():
    """A model of 16 electrodes on a line of 175 cm, and bursts of 100 ms."""
    import tessera.decode as td

    rng = np.random.default_rng(SEED)
    step = 0.002
    moment = np.arange(0, 100, step)
    x = 87.5 * (1 - np.cos(moment * 2 * np.pi / 20))
    begin = 101.0
    intervals = np.array([[begin + k, begin + k + 0.1] for k in range(N_EVENT)])
    times, marks = [], []
    for _ in range(16):
        centre = rng.uniform(0, 175)
        fired = np.flatnonzero(rng.random(len(moment)) < 0.05 * np.exp(-((x - centre) / 20) ** 2))
        burst = (intervals[:, :1] + 0.1 * np.sort(rng.random((N_EVENT, 6)), axis=1)).ravel()
        times.append(np.concatenate([moment[fired] + step / 2, burst]))
        marks.append(rng.normal(120, 40, (len(times[-1]), 4)))
    model = td.ContFragClusterlessClassifier(
        environments=td.Environment(place_bin_size=175 / N_BIN),
        clusterless_algorithm_params={"position_std": 6.0, "waveform_std": 24.0},
        sampling_frequency=1 / step)
    model.fit(moment, x[:, None], [t[t < 100] for t in times],
              [m[t < 100] for m, t in zip(marks, times)])
    still = np.array([begin - 1, begin + N_EVENT + 1])
    data = {"position_time": still, "position": np.zeros((2, 1)),
            "spike_times": times, "spike_waveform_features": marks}
    return model, intervals, data


def test(n_event, n_shuffle, kinds, threads):
    """The table and posteriors of the first events."""
    import tessera.decode as td

    model, intervals, data = prepared()
    model.threads = threads
    return td.events.shuffle_test(model, intervals[:n_event], **data, kinds=kinds,
                                  shuffles=n_shuffle, shuffle_seed=SEED, keep_statistics=True)


def line_fit(p, k, n_time, u, length, h):
    """The largest mean mass along a line, by prefix sums over places; one slope at a time."""
    prefix = np.concatenate([np.zeros((len(p), 1)), np.cumsum(p, axis=1)], axis=1)

    def mass(y, rows):
        low = np.searchsorted(u, y - BAND - 1e-7)
        high = np.searchsorted(u, y + BAND + 1e-7, side="right")
        return prefix[rows, high] - prefix[rows, low]

    rows = np.arange(len(p))[:, None]
    median = np.median(mass(np.broadcast_to(u, p.shape), rows), axis=1)[:, None]
    most = int(np.floor(FASTEST * (n_time - 1) * WIDTH / h + 1e-9))
    last = int(np.floor(2 * length / h + 1e-9))
    best = 0.0
    for slope in range(-most, most + 1):
        i = np.arange(-(slope // 2), (last - slope) // 2 + 1)
        y = h * (i[None, :] + slope * k[:, None] / (n_time - 1))
        inside = (y >= -1e-7) & (y <= length + 1e-7)
        best = max(best, np.where(inside, mass(y, rows), median).mean(axis=0).max())
    return best


def correlation(p, k, u):
    w = p / p.sum()
    t = k * WIDTH
    a, b = t - (w.sum(axis=1) * t).sum(), u - (w.sum(axis=0) * u).sum()
    return (w * np.outer(a, b)).sum() / np.sqrt((w.sum(axis=1) * a**2).sum() *
                                                (w.sum(axis=0) * b**2).sum())


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def peer(posterior):
    """Correlation and line fit of every shuffle by column, from the posteriors of the events."""
    place = posterior["position"].to_numpy()
    h = 0.5 * (place[1] - place[0])
    u, length = place - place[0] + h, 2 * h * len(place)
    rows, event = posterior.to_numpy(), posterior["event"].to_numpy()
    counted = posterior["is_counted"].to_numpy()
    found = np.empty((PEER_EVENT, PEER_SHUFFLE, 2))
    for e in range(PEER_EVENT):
        p, k = rows[event == e], np.flatnonzero(counted[event == e])
        for s in range(PEER_SHUFFLE):
            turned = np.array([np.roll(row, philox([t // 4, s, e, 1], [SEED, 0])[t % 4] *
                                       len(row) >> 32) for t, row in enumerate(p)])[k]
            found[e, s] = correlation(turned, k, u), line_fit(turned, k, len(p), u, length, h)
    return found


def case():
    """A shuffle of one event by one kind, in seconds; all four kinds of ours, one of the peer's."""
    sizes = {"events": N_EVENT, "shuffles": N_SHUFFLE, "kinds": len(KINDS), "n_bin": N_BIN,
             "n_electrode": 16, "peer_events": PEER_EVENT, "peer_shuffles": PEER_SHUFFLE}

    @functools.cache
    def small():
        return test(PEER_EVENT, PEER_SHUFFLE, ["column"], 1)

    def times(data, threads):
        start = time.perf_counter()
        test(N_EVENT, N_SHUFFLE, KINDS, threads)
        ours = (time.perf_counter() - start) / (N_EVENT * N_SHUFFLE * len(KINDS))
        posterior = small()[1]
        start = time.perf_counter()
        peer(posterior)
        return ours, (time.perf_counter() - start) / (PEER_EVENT * PEER_SHUFFLE)

    def more(data, threads, ours_s):
        return {"500 x 1000 x 4, scaled, s": ours_s * 500 * 1000 * 4} if ours_s else {}

    return Case(
        name="events", sizes=sizes, peer_name="numpy", tolerance=1e-10, make=prepared,
        ours=lambda data, threads: small()[0].attrs["statistics"][0, :, :, :2],
        peer=lambda data: peer(small()[1]),
        error=lambda ours, theirs: float(np.nanmax(np.abs(ours - theirs))),
        times=times, more=more, all_threads_only=True)
