"""One module for each Function that a queue or a timer triggers. A mail passes six stages.

    parsing        ArchiveIngested        -> messages, placed in threads         -> JSONParsed
    chunking       JSONParsed             -> chunks that fit the embedding model -> ChunksPrepared
    embedding      ChunksPrepared         -> vectors in the search index         -> EmbeddingsGenerated
    orchestration  EmbeddingsGenerated    -> a claim on the thread's new version -> SummarizationRequested
    summarization  SummarizationRequested -> a summary with verified citations   -> SummaryComplete
    reporting      SummaryComplete        -> a published report                  -> ReportPublished

A stage is a handler: it reads an event, writes idempotently, and returns the events to publish.
`shared/pipeline/runner.py` does the rest: it counts, publishes, retries, and gives up.
"""
