"""Operations: run the requests of operators that take too long for an HTTP request."""

import azure.functions as func

from shared.operations.background import run_requested
from shared.pipeline.topology import OPERATIONS
from stages.registration import register_request

blueprint = func.Blueprint()

register_request(
    blueprint, OPERATIONS, lambda body, clients, _span: run_requested(body, clients), name="operation"
)
