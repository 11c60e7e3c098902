"""``python -m tessera.compat SCRIPT ...``, which is ``tessera try SCRIPT ...``."""

from __future__ import annotations

from tessera.compat._main import main

if __name__ == "__main__":
    main()
