"""The blueprints of the stages and timers: function_app.py registers them."""

import azure.functions as func

from stages.chunking import blueprint as chunking
from stages.deliveries import blueprint as deliveries
from stages.digests import blueprint as digests
from stages.embedding import blueprint as embedding
from stages.failures import blueprint as failures
from stages.ingestion import blueprint as ingestion
from stages.integrity import blueprint as integrity
from stages.operations import blueprint as operator_requests
from stages.orchestration import blueprint as orchestration
from stages.parsing import blueprint as parsing
from stages.queue_depths import blueprint as queue_depths
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
    digests,
    failures,
    ingestion,
    queue_depths,
    sweep,
    operator_requests,
    removal,
    integrity,
)
