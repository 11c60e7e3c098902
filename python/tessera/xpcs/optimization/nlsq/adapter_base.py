"""What solvers share."""

from tessera.xpcs._adapter_base import NLSQAdapterBase as NLSQAdapterBase
