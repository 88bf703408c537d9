"""Query metrics. The values are nominal, because tuning for the local machine would be misleading."""

import base64

import orjson

from localcloud.cosmos.queries import Page


def query_metrics(page: Page) -> str:
    size = sum(map(len, page.items))
    return (
        "totalExecutionTimeInMs=0.10;queryCompileTimeInMs=0.02;queryLogicalPlanBuildTimeInMs=0.00;"
        "queryPhysicalPlanBuildTimeInMs=0.01;queryOptimizationTimeInMs=0.00;VMExecutionTimeInMs=0.05;"
        f"indexLookupTimeInMs=0.01;documentLoadTimeInMs=0.01;retrievedDocumentCount={len(page.items)};"
        f"retrievedDocumentSize={size};outputDocumentCount={len(page.items)};outputDocumentSize={size};"
        "writeOutputTimeInMs=0.00;indexUtilizationRatio=1.00"
    )


INDEX_METRICS = base64.b64encode(
    orjson.dumps(
        {f"{use}{kind}Indexes": [] for use in ("Utilized", "Potential") for kind in ("Single", "Composite")}
    )
).decode()
