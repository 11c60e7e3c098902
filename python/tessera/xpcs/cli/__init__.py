"""The original's commands, for those who call them from Python or by their old names."""

from tessera.xpcs.cli.args_parser import create_parser, validate_args
from tessera.xpcs.cli.commands import dispatch_command
from tessera.xpcs.cli.main import main

__all__ = ["create_parser", "dispatch_command", "main", "validate_args"]
