"""The engine on more than one machine, by Ray: `serve_app` is a deployment of Ray Serve with the server's routes,
`generate` a stage of Ray Data. Needs ``pip install '.[ray]'``."""
from augur.ray.data import generate
from augur.ray.serve import serve_app

__all__ = ["generate", "serve_app"]
