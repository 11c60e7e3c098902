"""Thread counts under the control of threadpoolctl.

>>> import tessera.threadpool
>>> tessera.threadpool.register()  # doctest: +SKIP
>>> with threadpoolctl.threadpool_limits(2, user_api="tessera"): ...  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

import tessera

__all__ = ["register"]


def register() -> None:
    """Make Tessera known to threadpoolctl, which must be installed."""
    import threadpoolctl

    class TesseraController(threadpoolctl.LibController):  # type: ignore[misc]
        """Get and set :func:`tessera.set_num_threads`."""

        user_api = "tessera"
        internal_api = "tessera"
        filename_prefixes = ("_core.abi3",)
        check_symbols = ("PyInit__core",)

        def get_num_threads(self) -> int:
            return tessera.get_num_threads()

        def set_num_threads(self, num_threads: int) -> None:
            tessera.set_num_threads(num_threads)

        def get_version(self) -> str:
            return tessera.__version__

        def set_additional_attributes(self) -> Any:
            """Tessera has none."""

    threadpoolctl.register(TesseraController)
