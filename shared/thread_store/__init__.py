"""Store the threads of a source, across its archives, in Cosmos DB.

Entry points: `commit.ThreadCommit`, `finishing.finish_moves` and `moving.announce_messages`.
"""
