"""What solvers share."""

from tessera.xpcs import _adapter_base

NLSQAdapterBase = _adapter_base.NLSQAdapterBase
