"""Whole ASGI and WSGI applications behind a Functions app."""

from pathlib import Path

from tests.localcloud.functions.support import running_host, wait_for, write_app

ASGI = """
import azure.functions as func

async def web(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            print("lifespan:", message["type"], flush=True)
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    request = await receive()
    body = f"{scope['method']} {scope['path']} {scope['query_string'].decode()} {request['body'].decode()}"
    headers = [(b"content-type", b"text/html"), (b"x-from", b"asgi")]
    await send({"type": "http.response.start", "status": 201, "headers": headers})
    await send({"type": "http.response.body", "body": body.encode()})

app = func.AsgiFunctionApp(app=web, http_auth_level=func.AuthLevel.ANONYMOUS)
"""
WSGI = """
import azure.functions as func

def web(environ, start_response):
    start_response("202 Accepted", [("Content-Type", "text/css"), ("X-From", "wsgi")])
    body = environ["wsgi.input"].read().decode()
    return [f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']} {environ['QUERY_STRING']} {body}".encode()]

app = func.WsgiFunctionApp(app=web, http_auth_level=func.AuthLevel.ANONYMOUS)
"""
NO_PREFIX = {"version": "2.0", "extensions": {"http": {"routePrefix": ""}}}


def test_an_asgi_app_answers_every_path_and_is_told_of_its_life(tmp_path: Path) -> None:
    with running_host(write_app(tmp_path / "app", ASGI, host=NO_PREFIX), tmp_path / "data") as host:
        for path in ("/", "/deep/path"):
            answer = host.ask("PUT", f"{path}?a=1", "body")
            assert (answer.status, answer.text) == (201, f"PUT {path} a=1 body")
            assert answer.headers["content-type"] == "text/html"
            assert answer.headers["x-from"] == "asgi"
        assert host.log.count("lifespan: lifespan.startup") == 1
        assert host.service.stop() == 0
        assert wait_for(lambda: "lifespan: lifespan.shutdown" in host.log)


def test_a_wsgi_app_answers_every_path(tmp_path: Path) -> None:
    with running_host(write_app(tmp_path / "app", WSGI), tmp_path / "data") as host:
        answer = host.ask("POST", "/api/x/y?q=2", "body")
        assert (answer.status, answer.text) == (202, "POST /api/x/y q=2 body")
        assert answer.headers["content-type"] == "text/css"
        assert host.get("/elsewhere").status == 404
