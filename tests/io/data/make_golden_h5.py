"""Writes the golden HDF5 files of this folder with h5py. Run it here and commit what changes."""

import h5py
import numpy as np


def ramp(dtype, shape=(6, 4, 5)):
    """Item i, counted in C order, has the value i."""
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


with h5py.File("one.h5", "w") as f:
    f["entry/data"] = ramp("<f4")

with h5py.File("several.h5", "w") as f:
    f["contiguous"] = ramp("<f4")
    f["big_endian"] = ramp(">f8")
    f["short"] = ramp(">i2")
    f["flag"] = ramp("u1") % 2 == 0
    f["complex"] = ramp("<c16") * (1 + 2j)
    f["half"] = ramp("<f2")
    f["name"] = np.array([b"Fz", b"Cz1"])
    f["scalar"] = 42.5
    f.create_dataset("gzip", data=ramp("<f4"), chunks=(4, 3, 2), compression="gzip", shuffle=True)
    f.create_dataset("lzf", data=ramp("<f4") // 8, chunks=(4, 4, 5), compression="lzf")
    f.create_dataset("text", data=["a", "bc"], dtype=h5py.string_dtype())
    f.create_dataset("group/deep/seven_axes", data=np.zeros((1,) * 7, "<f4"))
    f["soft"] = h5py.SoftLink("/gzip")
    f["outside"] = h5py.ExternalLink("one.h5", "/entry/data")
    f["loop"] = h5py.SoftLink("/loop")
    f["group/up"] = f["/"]  # a hard link back to the root

    # A filter nobody has: optional, so that h5py itself can create the data set.
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_chunk((6, 4, 5))
    creation.set_filter(32008, h5py.h5z.FLAG_OPTIONAL, (0,))
    space = h5py.h5s.create_simple((6, 4, 5))
    h5py.h5d.create(f.id, b"bitshuffle", h5py.h5t.IEEE_F32LE, space, creation)

    layout = h5py.VirtualLayout(shape=(6, 4, 5), dtype="<f4")
    layout[:] = h5py.VirtualSource("one.h5", "entry/data", shape=(6, 4, 5))
    f.create_virtual_dataset("virtual", layout)

# Chunks that were never written, edges that chunks stick out of, and filters of every combination.
with h5py.File("holes.h5", "w") as f:
    for name, dtype, packing in [
        ("gzip_big", ">f4", {"compression": "gzip", "shuffle": True}),
        ("lzf", "<f4", {"compression": "lzf", "shuffle": True}),
        ("checked", "<f4", {"compression": "gzip", "fletcher32": True}),
    ]:
        data = f.create_dataset(name, (20, 18), dtype, chunks=(8, 7), **packing)
        data[3:, 8:] = ramp("<f4", (20, 18))[3:, 8:]
    f.create_dataset("rows", data=ramp("<f4", (20, 18)), chunks=(5, 18), compression="gzip")
    f.create_dataset("never", (20, 18), "<f4", chunks=(20, 18), compression="lzf")

# Behind a user block, where every address counts from its end: each way data are stored.
with h5py.File("stored.h5", "w", userblock_size=512) as f:
    shape = (21, 3, 7)
    compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    compact.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple(shape)
    h5py.h5d.create(f.id, b"compact", h5py.h5t.STD_I16LE, space, compact).write(
        h5py.h5s.ALL, h5py.h5s.ALL, ramp("<i2", shape)
    )
    for name, dtype, packing in [
        ("piece", "<i2", {}),
        ("piece_big", ">i2", {}),
        ("plain", "<i2", {"chunks": (4, 2, 7)}),
        ("plain_big", ">i2", {"chunks": (4, 3, 7)}),
        ("packed", "<i2", {"chunks": (4, 2, 4), "compression": "gzip", "shuffle": True}),
        ("checked", "<i2", {"chunks": (4, 3, 7), "fletcher32": True}),
        ("scaled", "<i2", {"chunks": (4, 3, 7), "scaleoffset": 0}),
    ]:
        f.create_dataset(name, data=ramp(dtype, shape), **packing)
    # Row 20 alone is there; the others hold what was said at creation.
    for name, dtype in (("filled", "<i2"), ("filled_big", ">i2")):
        f.create_dataset(name, shape, dtype, chunks=(4, 3, 7), compression="lzf", fillvalue=-7)
        f[name][20] = ramp(dtype, shape)[20]

# As MATLAB writes structs, struct arrays and cells into MAT files of version 7.3.
with h5py.File("matlab.h5", "w", userblock_size=512) as f:
    refs = f.create_group("#refs#")
    eeg = f.create_group("EEG")
    event = eeg.create_group("event")
    for group in (eeg, event):
        group.attrs["MATLAB_class"] = np.bytes_("struct")
    eeg["data"] = ramp("<f4", (3, 4, 2))
    eeg["data"].attrs["MATLAB_class"] = np.bytes_("single")
    for field, value in (("type", [[65], [66]]), ("latency", [[5.0]])):
        targets = []
        for i in range(3):
            target = refs.create_dataset(f"{field}{i}", data=np.array(value))
            target.attrs["MATLAB_class"] = np.bytes_("char" if field == "type" else "double")
            targets.append(target.ref)
        event.create_dataset(field, data=np.array(targets).reshape(3, 1), dtype=h5py.ref_dtype)
    cell = eeg.create_dataset("nbchan", (1, 1), h5py.ref_dtype)
    cell.attrs["MATLAB_class"] = np.bytes_("cell")
    cell[0, 0] = cell.ref  # goes in circles

# The newer structures: dense links and attributes, an index of each kind, checksums on all of them.
with h5py.File("latest.h5", "w", libver=("v110", "v110")) as f:
    for i in range(10):
        f[f"link{i}"] = np.float32(i)
        f.attrs[f"attribute{i}"] = i
    f.attrs["tessera_provenance"] = "{}"
    f["texts"] = np.array([b"one", b"two"])
    data = ramp("<f4", (12, 6))
    for name, limits in [
        ("fixed", None),
        ("extensible", (None, 6)),
        ("tree", (None, None)),
        ("single", (12, 6)),
    ]:
        chunks = (12, 6) if name == "single" else (2, 3)
        f.create_dataset(name, data=data, chunks=chunks, maxshape=limits, compression="gzip")
    f.create_dataset("plain", data=data, chunks=(2, 3), maxshape=(None, 6), fillvalue=5)
