"""Writes the golden .npy and .npz files of this folder with NumPy.

Run it here and commit what changes; the C tests know the values by these formulas.
"""

import numpy as np
from numpy.lib import format as npy_format


def ramp(dtype, shape=(3, 4, 5)):
    """Item i, counted in C order, has the value i."""
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


def save(name, array, version=None):
    with open(name, "wb") as file:
        npy_format.write_array(file, array, version=version, allow_pickle=False)


save("f4.npy", ramp("<f4"))
save("f4_big.npy", ramp(">f4"))
save("f4_fortran.npy", np.asfortranarray(ramp("<f4")))
save("f8_big_fortran.npy", np.asfortranarray(ramp(">f8")))
save("i2_fortran_5d.npy", np.asfortranarray(ramp("<i2", (2, 3, 4, 3, 2))))
save("f4_v2.npy", ramp("<f4"), version=(2, 0))
save("f4_v3.npy", ramp("<f4"), version=(3, 0))
save("c16_big.npy", ramp(">c16") * (1 + 2j))
save("u1.npy", ramp("u1"))
save("b1.npy", ramp("u1") % 2 == 0)
save("scalar.npy", np.array(42.5))
save("empty.npy", np.zeros((0, 7), "<f4"))
save("text_u.npy", np.array(["Fz", "Cz", "Oz\u00e9"]))
save("text_u_big.npy", np.array(["Fz", "Cz", "Oz\u00e9"]).astype(">U3"))
save("text_s.npy", np.array([b"Fz", b"Cz1"]))
save("structured.npy", np.zeros(2, [("a", "<f4"), ("b", "<i2", (3,))]))
save("seven_axes.npy", np.zeros((1,) * 7, "<f4"))
save("date.npy", np.zeros(2, "M8[ns]"))

np.savez("stored.npz", x=ramp("<f4"))
np.savez_compressed("deflated.npz", x=ramp("<f4"))
np.savez_compressed("deflated_fortran.npz", x=np.asfortranarray(ramp("<f8")))
np.savez_compressed("deflated_long.npz", x=ramp("u1", (100, 4, 20)))
np.savez("several.npz", first=ramp("<f4"), second=ramp(">i4"), names=np.array(["a", "bc"]))
