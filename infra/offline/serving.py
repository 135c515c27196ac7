"""HTTP: moto's services behind one port, each serving one request at a time, and the account's own routes."""

from __future__ import annotations

import io
import json
import logging
import socket
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import BaseWSGIServer, make_server
from werkzeug.wsgi import ClosingIterator

__all__ = ["ADMIN", "Admin", "TakingTurns", "port_of", "serve"]

ADMIN = "/_slipstream/"
LOOPBACK = "127.0.0.1"

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Route = Callable[[Any], Any]

log = logging.getLogger(__name__)


class TakingTurns:
    """moto's application, one request per service at a time.

    moto's backends are dictionaries without locks: a listing dies when an upload changes what it walks over, and a
    conditional PutObject checks first and puts later. The body is read before the turn is taken, so that a client that
    stalls holds up only itself.
    """

    def __init__(self) -> None:
        self._dispatcher = DomainDispatcherApplication(create_backend_app)
        self._turns: dict[int, threading.Lock] = defaultdict(threading.Lock)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        length = environ.get("CONTENT_LENGTH")
        if length:
            environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(int(length)))
        application = self._dispatcher.get_application(environ)
        with self._turns[id(application)], closing(ClosingIterator(application(environ, start_response))) as answer:
            return list(answer)


class Admin:
    """`/_slipstream/<name>`: GET and POST of JSON.

    Args:
        routes: answers by name. A route gets the request's JSON (None without a body); a `ValueError` is a 400.
        application: everything else.
    """

    def __init__(self, routes: Mapping[str, Route], application: Any) -> None:
        self._routes = routes
        self._application = application

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        path: str = environ.get("PATH_INFO", "")
        if not path.startswith(ADMIN):
            answer: Iterable[bytes] = self._application(environ, start_response)
            return answer
        route = self._routes.get(path.removeprefix(ADMIN))
        if route is None:
            return _respond(start_response, "404 Not Found", {"error": f"no route {path}"})
        try:
            body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            return _respond(start_response, "200 OK", route(json.loads(body) if body else None))
        except ValueError as error:
            return _respond(start_response, "400 Bad Request", {"error": str(error)})


def serve(application: Any, port: int) -> BaseWSGIServer:
    """A server on 127.0.0.1, listening already. Port 0 takes any free one. Raises `OSError` when it is taken."""
    with socket.socket() as listener:  # bound here: werkzeug would end the process over a port that is taken
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen(128)
        return make_server(LOOPBACK, 0, application, threaded=True, request_handler=_QuietHandler, fd=listener.fileno())


def port_of(server: BaseWSGIServer) -> int:
    """The port that a server listens on."""
    port: int = server.socket.getsockname()[1]
    return port


class _QuietHandler(MotoRequestHandler):
    def log(self, type: str, message: str, *args: Any) -> None:
        """One line for what went wrong; the rest would drown it."""
        if type != "info":
            log.error(message, *args)


def _respond(start_response: StartResponse, status: str, answer: Any) -> list[bytes]:
    body = json.dumps(answer, default=str).encode()
    start_response(status, [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]
