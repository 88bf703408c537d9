"""The app for the dev host's tests: HTTP functions of every kind, timers, and a blueprint."""

import asyncio
import json
import os
import sys
import threading
import time
from pathlib import Path

import azure.functions as func
from messages import messages  # type: ignore[import-not-found] # the app's own folder is on its path

app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)
app.register_functions(messages)

print("a line on standard output while the app is imported")


@app.route(route="hello/{name?}", methods=["GET", "POST"])
def hello(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(f"hello {req.route_params.get('name', 'nobody')}")


@app.route(route="echo/{id:int}", methods=["PUT", "POST"])
async def echo(req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
    seen = {
        "method": req.method,
        "url": req.url,
        "params": dict(req.params),
        "route_params": dict(req.route_params),
        "header": req.headers.get("X-Test"),
        "body": req.get_body().decode("utf-8", "replace"),
        "function_name": context.function_name,
        "invocation_id": context.invocation_id,
        "trace_parent": context.trace_context.trace_parent,
        "retry_count": context.retry_context.retry_count,
    }
    return func.HttpResponse(json.dumps(seen), mimetype="application/json", headers={"X-Echo": "yes"})


@app.route(route="form", methods=["POST"], trigger_extra_fields={"maxBodyBytes": 1024})
def form(req: func.HttpRequest) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted(req.form.items()))


@app.route(route="json", methods=["POST"])
def read_json(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(str(req.get_json()["number"] + 1), status_code=201)


@app.route(route="text")
def text(req: func.HttpRequest) -> str:
    return "plain text"


@app.route(route="nothing")
def nothing(req: func.HttpRequest) -> func.HttpResponse:
    return None  # type: ignore[return-value] # to test the worker's handling


@app.route(route="a-dict")
def a_dict(req: func.HttpRequest) -> func.HttpResponse:
    return {"a": 1}  # type: ignore[return-value] # to test the worker's handling


@app.route(route="fails")
def fails(req: func.HttpRequest) -> func.HttpResponse:
    raise RuntimeError("this function always fails")


@app.route(route="fails-async")
async def fails_async(req: func.HttpRequest) -> func.HttpResponse:
    raise RuntimeError("this async function always fails")


@app.route(route="exits")
async def exits(req: func.HttpRequest) -> func.HttpResponse:
    sys.exit(3)


@app.route(route="empty", methods=["DELETE"])
def empty(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(status_code=204)


@app.route(route="cookies")
def cookies(req: func.HttpRequest) -> func.HttpResponse:
    response = func.HttpResponse("ok")
    response.headers.add("Set-Cookie", "a=1; Path=/; HttpOnly")
    response.headers.add("Set-Cookie", "b=2")
    return response


@app.route(route="split", methods=["GET"])
def split(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("ok", headers={"X-Reflected": req.params["value"]})


@app.route(route="broken-response")
def broken_response(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("ok", mimetype=5)  # type: ignore[arg-type] # to test the error


@app.route(route="large", methods=["GET"])
def large(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(b"x" * 1_000_000)


@app.route(route="any")
def anything(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(req.method)


@app.route(route="size", methods=["POST"])
def size(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(str(len(req.get_body())))


@app.route(route="thread", methods=["GET"])
def thread(req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
    return func.HttpResponse(
        json.dumps(
            {
                "name": threading.current_thread().name,
                "local": getattr(context.thread_local_storage, "invocation_id", None),
                "id": context.invocation_id,
            }
        )
    )


@app.route(route="slow", methods=["GET"])
async def slow(req: func.HttpRequest) -> func.HttpResponse:
    await asyncio.sleep(float(req.params["seconds"]))
    return func.HttpResponse("slept")


@app.route(route="blocks", methods=["GET"])
async def blocks(req: func.HttpRequest) -> func.HttpResponse:
    time.sleep(float(req.params["seconds"]))  # noqa: ASYNC251 - to test a blocking function
    return func.HttpResponse("blocked")


@app.route(route="slow-sync", methods=["GET"])
def slow_sync(req: func.HttpRequest) -> func.HttpResponse:
    time.sleep(float(req.params["seconds"]))
    return func.HttpResponse("slept")


@app.route(route="for-keys", methods=["GET"], auth_level=func.AuthLevel.FUNCTION)
def for_keys(req: func.HttpRequest) -> str:
    return "function level"


@app.route(route="for-master", methods=["GET"], auth_level=func.AuthLevel.ADMIN)
def for_master(req: func.HttpRequest) -> str:
    return "admin level"


@app.timer_trigger(arg_name="timer", schedule="%TICK_SCHEDULE%", run_on_startup=True)
def tick(timer: func.TimerRequest) -> None:
    _append("ticks", {"past_due": timer.past_due, "status": getattr(timer, "schedule_status", None)})


def _append(name: str, value: object) -> None:
    folder = os.environ.get("EXAMPLE_OUTPUT")
    if folder:
        with (Path(folder) / name).open("a", encoding="utf-8") as file:
            file.write(json.dumps(value) + "\n")
