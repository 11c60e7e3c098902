"""Scripts of the originals, unchanged, on Tessera.

``python -m tessera.compat script.py`` and ``tessera try script.py`` run a script that imports
``non_local_detector``, ``homodyne``, ``autoreject`` or ``flash_clifford`` with Tessera in their
place, then with the original where it is installed, and say how far apart the results are.

In code, the originals' names are modules of this package, or are redirected by :func:`install`:

>>> import tessera.compat.autoreject as autoreject
>>> autoreject.AutoReject.__module__
'tessera.autoreject.autoreject'
>>> from tessera.compat.non_local_detector.environment import Environment
"""

from __future__ import annotations

from tessera.compat._alias import AliasModule, Installed, LackingNameError, install, install_aliases

__all__ = ["AliasModule", "Installed", "LackingNameError", "install"]

install_aliases()
