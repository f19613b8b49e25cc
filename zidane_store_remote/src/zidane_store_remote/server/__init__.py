"""The server: an ASGI app that serves any session store over HTTP. Needs the extra `zidane-store-remote[server]`."""

from .app import create_app
from .tokens import Token, read_token_file

__all__ = ["Token", "create_app", "read_token_file"]
