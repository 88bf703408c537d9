"""The blueprints of the stages and timers: function_app.py registers them."""

import azure.functions as func

from stages.chunking import blueprint as chunking
from stages.deliveries import blueprint as deliveries
from stages.embedding import blueprint as embedding
from stages.failures import blueprint as failures
from stages.housekeeping import blueprint as housekeeping
from stages.ingestion import blueprint as ingestion
from stages.operations import blueprint as operator_requests
from stages.orchestration import blueprint as orchestration
from stages.parsing import blueprint as parsing
from stages.removal import blueprint as removal
from stages.reporting import blueprint as reporting
from stages.summarization import blueprint as summarization
from stages.sweep import blueprint as sweep

BLUEPRINTS: tuple[func.Blueprint, ...] = (
    parsing,
    chunking,
    embedding,
    orchestration,
    summarization,
    reporting,
    deliveries,
    failures,
    ingestion,
    housekeeping,
    sweep,
    operator_requests,
    removal,
)
