"""The log format of a local service."""

import logging

from localcloud.service import LineFormatter


def record(created: float) -> logging.LogRecord:
    made = logging.LogRecord("part", logging.INFO, __file__, 1, "%s happened", ("it",), None)
    made.created, made.msecs = created, (created % 1) * 1000
    return made


def test_each_line_carries_its_own_time() -> None:
    lines, plain = LineFormatter(), logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    for created in (1_700_000_000.25, 1_700_000_000.75, 1_700_000_001.0, 1_700_000_000.5, 1_799_999_999.0):
        assert lines.format(record(created)) == plain.format(record(created))
