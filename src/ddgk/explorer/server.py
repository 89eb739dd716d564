"""The local server: the page, and the same answers as JSON."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from ddgk.errors import DDGKError, MissingExtraError, ParameterError
from ddgk.explorer.atlas import Atlas, drawing_values
from ddgk.explorer.page import assemble, asset
from ddgk.explorer.workers import Workers
from ddgk.plain import graph_to_plain, visible
from ddgk.vectors import nearest_rows

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse
    from starlette.routing import Route
except ImportError as missing:
    raise MissingExtraError(
        "serving needs starlette and uvicorn: pip install 'ddgk[explore]'"
    ) from missing

MAX_BODY = 1 << 20  # bytes
MAX_NODES = 2_000
MAX_EDGES = 20_000
MAX_SMILES = 2_000  # characters
MAX_NEIGHBORS = 100
BODY_SECONDS = 15.0
N_CACHED = 5_000  # drawings
EVERYWHERE = {"0.0.0.0", "::"}  # noqa: S104 addresses that stand for all names of the machine
LEAST_TOKEN = 16  # characters


def make_app(
    atlas: Atlas, *, token: str | None = None, hosts: tuple[str, ...] = (), **limits: Any
) -> Any:
    """Return the Starlette application.

    token: every request must carry it, as ``Authorization: Bearer TOKEN`` or, for the page, once as
    ``/?token=TOKEN``. hosts: names under which the server may be addressed, besides the loopback
    ones. limits: as for `Workers`.
    """
    if atlas.comparison.model is None:
        raise ParameterError("the server needs the model that embedded the graphs")
    workers = Workers(atlas.comparison.model, **limits)
    service = _Service(atlas, workers)
    page, policy = assemble(atlas.map_values(), served=True)

    @asynccontextmanager
    async def running(_: Any) -> AsyncIterator[None]:
        workers.start()
        yield
        workers.stop()

    health = {"status": "ok", "n_graphs": len(atlas.graphs)}
    routes = [
        Route("/", HTMLResponse(page), methods=["GET"]),
        Route("/docs", HTMLResponse(asset("api.html")), methods=["GET"]),
        Route("/openapi.json", JSONResponse(json.loads(asset("openapi.json"))), methods=["GET"]),
        Route("/health", JSONResponse(health), methods=["GET"]),
        Route("/api/graph/{position:int}", service.graph),
        Route("/api/embed", service.embed, methods=["POST"]),
        Route("/api/similar", service.similar, methods=["POST"]),
        Route("/api/align", service.align, methods=["POST"]),
    ]
    allowed = {"localhost", "127.0.0.1", "[::1]", *hosts}
    guard = Middleware(_Guard, token=token, hosts=allowed, policy=policy)
    refusals = {HTTPException: _refuse, DDGKError: _refuse}
    return Starlette(
        routes=routes, middleware=[guard], lifespan=running, exception_handlers=refusals
    )


def serve(
    atlas: Atlas,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    **limits: Any,
) -> None:
    """Serve the page until the process is interrupted; other than loopback needs a token."""
    check_address(host, token)
    uvicorn.run(
        make_app(atlas, token=token, hosts=(host,), **limits),
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=256,
        timeout_keep_alive=10,
        h11_max_incomplete_event_size=16_384,
    )


def check_address(host: str, token: str | None) -> None:
    """Check that an address other than loopback comes with a token.

    Examples
    --------
    >>> check_address("127.0.0.1", None)
    >>> check_address("0.0.0.0", None)
    Traceback (most recent call last):
    ...
    ddgk.errors.ParameterError: serving on 0.0.0.0 needs a token of at least 16 characters
    """
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost"
    if not local and (token is None or len(token) < LEAST_TOKEN):
        raise ParameterError(
            f"serving on {visible(host, 60)} needs a token of at least {LEAST_TOKEN} characters"
        )


class _Guard:
    """Checks host, origin and token of every request, and adds security headers to answers."""

    def __init__(self, app: Any, token: str | None, hosts: set[str], policy: str) -> None:
        self.app, self.token, self.hosts = app, token, hosts
        self.headers = [
            (b"content-security-policy", policy.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"x-frame-options", b"DENY"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"cache-control", b"no-store"),
        ]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *self.headers]
            await send(message)

        request, refused = Request(scope), None
        host = request.headers.get("host", "")
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        origin = request.headers.get("origin")
        if name not in self.hosts and not self.hosts & EVERYWHERE:
            refused = JSONResponse({"error": "this host name is not served"}, 421)
        elif origin is not None and origin.partition("://")[2] != host:
            refused = JSONResponse({"error": "requests from other sites are refused"}, 403)
        elif self.token is not None and not self._knows(request):
            given = request.query_params.get("token", "")
            if request.url.path == "/" and hmac.compare_digest(given.encode(), self.token.encode()):
                refused = RedirectResponse("/", 303)
                refused.set_cookie("ddgk", self.token, httponly=True, samesite="strict")
            else:
                refused = JSONResponse({"error": "a token is needed"}, 401)
        await (self.app if refused is None else refused)(scope, receive, send_guarded)

    def _knows(self, request: Any) -> bool:
        assert self.token is not None
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        given = (bearer, request.cookies.get("ddgk", ""))
        return any(hmac.compare_digest(text.encode(), self.token.encode()) for text in given)


async def _refuse(_: Any, error: Exception) -> Any:
    """Answer with the status and the message of an error."""
    status = getattr(error, "status_code", 422)
    headers = {"retry-after": "2"} if status == 429 else None
    return JSONResponse({"error": visible(getattr(error, "detail", error))}, status, headers)


class _Service:
    """Answers requests about one atlas."""

    def __init__(self, atlas: Atlas, workers: Workers) -> None:
        self.atlas, self.workers = atlas, workers
        self._drawing = lru_cache(N_CACHED)(lambda place: drawing_values(atlas.graphs[place]))

    async def graph(self, request: Any) -> Any:
        """Return name and drawing of one graph."""
        position = self._position(request.path_params["position"])
        drawing = await asyncio.to_thread(self._drawing, position)
        name = visible(self.atlas.comparison.names[position], 80)
        return JSONResponse({"position": position, "name": name, "drawing": drawing})

    async def embed(self, request: Any) -> Any:
        """Embed a graph and place it on the map."""
        body = await _body(request, ("graph", "k"))
        found = await self.workers.run("embed", [_plain(body.get("graph"))])
        neighbors = await self._near(found["row"], body.get("k", 10))
        place = self.atlas.place(neighbors)
        told = {"place": place, "drawing": found["drawing"], "neighbors": neighbors}
        return JSONResponse({"embedding": found["row"], **told})

    async def similar(self, request: Any) -> Any:
        """Return the graphs nearest to a graph, or to one of the collection."""
        body = await _body(request, ("graph", "position", "k"))
        position = None
        if "position" in body:
            position = self._position(body["position"])
            row = self.atlas.comparison.embedding[position]
        else:
            row = (await self.workers.run("embed", [_plain(body.get("graph"))]))["row"]
        return JSONResponse({"neighbors": await self._near(row, body.get("k", 10), position)})

    async def align(self, request: Any) -> Any:
        """Align two graphs, each given or one of the collection."""
        body = await _body(request, ("target", "source"))
        pair = [self._given(body.get(key), key) for key in ("target", "source")]
        return JSONResponse(await self.workers.run("align", pair))

    def _position(self, value: Any) -> int:
        if type(value) is not int or not 0 <= value < len(self.atlas.graphs):
            raise HTTPException(404, f"there is no graph at position {visible(value, 30)}")
        return value

    def _given(self, value: Any, key: str) -> dict[str, Any]:
        if not isinstance(value, dict) or len(value) != 1:
            raise HTTPException(422, f"{key} must be an object with 'graph' or 'position'")
        if "position" in value:
            graph = self.atlas.graphs[self._position(value["position"])]
            _check_size(graph.n_nodes, graph.n_edges)
            return graph_to_plain(graph)
        return _plain(value.get("graph"))

    async def _near(self, row: Any, k: Any, without: int | None = None) -> list[dict[str, Any]]:
        if type(k) is not int or not 1 <= k <= MAX_NEIGHBORS:
            raise HTTPException(422, f"k must be between 1 and {MAX_NEIGHBORS}")
        rows, names = self.atlas.comparison.embedding, self.atlas.comparison.names
        query = np.asarray(row, np.float32)
        near, apart = await asyncio.to_thread(nearest_rows, rows, query, k + 1)
        found = [
            {"position": place, "name": visible(names[place], 80), "distance": distance}
            for place, distance in zip(near.tolist(), apart.tolist(), strict=True)
            if place != without
        ]
        return found[:k]


async def _body(request: Any, known: tuple[str, ...]) -> dict[str, Any]:
    """Read a JSON object of limited size in limited time."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "the content type must be application/json")
    try:
        body = json.loads(await asyncio.wait_for(_read(request), BODY_SECONDS))
    except TimeoutError:
        raise HTTPException(408, "the request took too long to arrive") from None
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is not JSON") from None
    unknown = sorted(set(body) - set(known)) if isinstance(body, dict) else [""]
    if unknown:
        raise HTTPException(422, f"the body must be an object with {', '.join(known)}")
    found: dict[str, Any] = body
    return found


async def _read(request: Any) -> bytes:
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > MAX_BODY:
            raise HTTPException(413, f"the body has more than {MAX_BODY:,} bytes")
    return bytes(content)


def _plain(graph: Any) -> dict[str, Any]:
    """Check the size of a graph; the worker that makes it checks everything else."""
    if isinstance(graph, dict) and graph.keys() == {"smiles"}:
        text = graph["smiles"]
        if not isinstance(text, str) or not 0 < len(text) <= MAX_SMILES:
            raise HTTPException(422, f"smiles must be text of at most {MAX_SMILES:,} characters")
        return graph
    if not isinstance(graph, dict) or not isinstance(graph.get("edges"), list):
        raise HTTPException(
            422, "a graph must be an object with 'n_nodes' and 'edges', or 'smiles'"
        )
    n_nodes = graph.get("n_nodes")
    if type(n_nodes) is not int:
        raise HTTPException(422, "n_nodes must be a whole number")
    _check_size(n_nodes, len(graph["edges"]))
    return graph


def _check_size(n_nodes: int, n_edges: int) -> None:
    if n_nodes > MAX_NODES or n_edges > MAX_EDGES:
        raise HTTPException(
            413, f"a graph may have {MAX_NODES:,} nodes and {MAX_EDGES:,} edges at most"
        )
