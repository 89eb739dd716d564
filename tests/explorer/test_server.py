import asyncio
import time

import pytest

from light_model import DegreeCounts

httpx = pytest.importorskip("httpx", reason="tests of the server need httpx")
pytest.importorskip("starlette", reason="the server needs starlette (extra explore)")

from ddgk.errors import ParameterError  # noqa: E402
from ddgk.explorer.server import MAX_BODY, check_address, make_app  # noqa: E402
from ddgk.explorer.workers import BusyServerError, TooLongError, Workers  # noqa: E402
from ddgk.plain import KEYS  # noqa: E402

RING = {"n_nodes": 6, "edges": [[i, (i + 1) % 6] for i in range(6)]}


@pytest.fixture(scope="module")
def client(address):
    with httpx.Client(base_url=address, timeout=60) as opened:
        yield opened


def test_similar_by_graph_and_by_position(client):
    by_graph = client.post("/api/similar", json={"graph": RING, "k": 3}).json()["neighbors"]
    assert (by_graph[0]["name"], by_graph[0]["distance"]) == ("ring 6", 0.0)
    by_place = client.post("/api/similar", json={"position": 1, "k": 2}).json()["neighbors"]
    assert by_place == by_graph[1:]


def test_embed_places_a_graph(client, atlas):
    found = client.post("/api/embed", json={"graph": RING}).json()
    assert found["place"] == pytest.approx(atlas.places[1].tolist())
    assert found["drawing"]["n"] == 6
    assert len(found["embedding"]) == 12


def test_a_molecule_is_read_from_smiles(client):
    pytest.importorskip("rdkit", reason="molecules need rdkit (extra chem)")
    found = client.post("/api/embed", json={"graph": {"smiles": "CCO"}}).json()
    assert found["drawing"]["l"] == ["C", "C", "O"]
    assert found["neighbors"][0]["name"] == "ethanol"
    for wrong in ("C(", "", "C" * 3000, 7):
        answer = client.post("/api/embed", json={"graph": {"smiles": wrong}})
        assert answer.status_code == 422
        assert answer.json()["error"]


def test_align_any_pair(client):
    pair = {"target": {"graph": RING}, "source": {"position": 1}}
    found = client.post("/api/align", json=pair).json()
    assert sorted(found["p"]) == list(range(6))
    assert all(0 <= sure <= 100 for sure in found["c"])


def test_graphs_and_descriptions(client, atlas):
    assert client.get("/api/graph/0").json()["name"] == "ring 5"
    described, page = client.get("/openapi.json").json(), client.get("/docs").text
    served = {route.path.replace(":int", "") for route in make_app(atlas).routes}
    assert set(described["paths"]) == served - {"/", "/docs", "/openapi.json"}
    assert all(path in page for path in described["paths"])
    graph = described["components"]["schemas"]["Graph"]["properties"]
    assert set(graph) == {*KEYS, "smiles"}
    assert client.get("/health").json()["n_graphs"] == 14


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/similar", {"position": 99}, 404),
        ("/api/similar", {"position": -1}, 404),
        ("/api/similar", {"position": "0"}, 404),
        ("/api/similar", {"position": 0, "k": 10**9}, 422),
        ("/api/similar", {"graph": {"n_nodes": 10**12, "edges": []}}, 413),
        ("/api/similar", {"graph": {"n_nodes": 2, "edges": [[0, 7]]}}, 422),
        ("/api/similar", {"graph": {"n_nodes": 2, "edges": "x"}}, 422),
        ("/api/similar", {"path": "/etc/passwd"}, 422),
        ("/api/similar", [1], 422),
        ("/api/align", {"target": {"position": 0}}, 422),
        ("/api/align", {"target": {"position": 0}, "source": {"file": "/etc/passwd"}}, 422),
        ("/api/embed", {"graph": {**RING, "node_labels": [["x"]] * 6}}, 422),
        ("/api/embed", {"graph": {**RING, "smiles": "C" * 10_000}}, 422),
    ],
)
def test_bad_requests_are_refused_with_a_message(client, path, body, status):
    answer = client.post(path, json=body)
    assert answer.status_code == status
    assert answer.json()["error"]


def test_bodies_are_limited(client):
    head = {"content-type": "application/json"}
    assert client.post("/api/embed", content=b" " * (MAX_BODY + 1), headers=head).status_code == 413
    assert client.post("/api/embed", content=b"[" * 100_000, headers=head).status_code == 400
    assert client.post("/api/embed", content=b"\xff\xfe", headers=head).status_code == 400
    assert client.post("/api/embed", content=b"{}").status_code == 415


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/api/graph/..%2f..%2fetc",
        "/assets/page.js",
    ],
)
def test_no_file_of_the_host_can_be_read(client, path):
    answer = client.get(path)
    assert answer.status_code in (404, 405)
    assert "root:" not in answer.text


def test_other_hosts_and_sites_are_refused(client):
    assert client.get("/", headers={"host": "evil.example"}).status_code == 421
    answer = client.post(
        "/api/similar", json={"position": 0}, headers={"origin": "http://evil.example"}
    )
    assert answer.status_code == 403


def test_security_headers(client):
    headers = client.get("/").headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"


def call(app, path, headers=()):
    """Send one GET request to the application without running its workers."""

    async def send():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as own:
            return await own.get(path, headers=dict(headers))

    return asyncio.run(send())


def test_a_token_is_asked_for(atlas):
    token = "0123456789abcdef"
    app = make_app(atlas, token=token)
    assert call(app, "/").status_code == 401
    assert call(app, "/health", {"authorization": "Bearer wrong"}).status_code == 401
    assert call(app, "/health?token=" + token).status_code == 401
    assert call(app, "/health", {"authorization": f"Bearer {token}"}).status_code == 200
    entered = call(app, f"/?token={token}")
    assert entered.status_code == 303
    assert "httponly" in entered.headers["set-cookie"].lower()
    assert call(app, "/", {"cookie": f"ddgk={token}"}).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.1", "example.org", "::"])
def test_other_addresses_need_a_token(host):
    for token in (None, "short"):
        with pytest.raises(ParameterError, match="needs a token"):
            check_address(host, token)
    check_address(host, "0123456789abcdef")
    for local in ("127.0.0.1", "::1", "localhost"):
        check_address(local, None)


class Sleeper(DegreeCounts):
    """Takes a minute for a graph of 60 nodes, and no time for others."""

    def transform(self, graphs):
        time.sleep(60 if graphs[0].n_nodes == 60 else 0)
        return super().transform(graphs)


def test_slow_requests_are_stopped_and_full_queues_refused():
    async def attempt():
        workers = Workers(Sleeper(), n_workers=1, max_waiting=1, seconds=20.0)
        workers.start()
        try:
            workers._seconds = 0.5
            with pytest.raises(TooLongError, match=r"more than 0\.5 s"):
                await workers.run("embed", [{"n_nodes": 60, "edges": []}])
            workers._seconds = 60.0  # the process has to start again, on a busy machine too
            quick = [workers.run("embed", [{"n_nodes": 1, "edges": []}]) for _ in range(3)]
            return await asyncio.gather(*quick, return_exceptions=True)
        finally:
            workers.stop()

    first, second, third = asyncio.run(attempt())
    assert first["row"] == second["row"]
    assert isinstance(third, BusyServerError)


class Glutton(DegreeCounts):
    """Asks for more memory than there may be."""

    def transform(self, graphs):
        return bytearray(8 << 30) and super().transform(graphs)


def test_memory_is_limited():
    async def attempt():
        workers = Workers(Glutton(), seconds=60, max_memory=2 << 30)
        workers.start()
        try:
            with pytest.raises(ValueError, match="more memory"):
                await workers.run("embed", [{"n_nodes": 1, "edges": []}])
        finally:
            workers.stop()

    asyncio.run(attempt())
