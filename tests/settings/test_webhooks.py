import json
from typing import Any, get_args

import pytest

from shared.models.values import SummaryType
from shared.publishing.webhooks import sign
from shared.settings.app import SettingsError, load_settings
from shared.settings.outgoing import ReportType, parse_webhooks
from tests.settings.test_app import LOCAL
from tests.support.webhook_receiver import verify_signature

GOOD: dict[str, Any] = {"name": "chairs", "url": "https://example.org/hook", "secret": "0123456789abcdef"}


def test_a_webhook_wants_threads_of_all_sources_unless_it_says_otherwise() -> None:
    (hook,) = parse_webhooks(json.dumps([GOOD]))
    assert (hook.types, hook.sources) == (("thread",), ())
    assert parse_webhooks("") == ()


def test_a_webhook_can_want_each_type_of_report() -> None:
    (hook,) = parse_webhooks(json.dumps([GOOD | {"types": list(SummaryType)}]))
    assert all(hook.wants(summary_type, "any") for summary_type in SummaryType)
    assert set(get_args(ReportType)) == set(SummaryType)


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("{", "not JSON"),
        ('{"name": "x"}', "WEBHOOKS: "),
        ([GOOD | {"url": "ftp://example.org"}], "0.url"),
        ([GOOD | {"url": "https://user:pass@example.org"}], "0.url"),
        ([GOOD | {"secret": "short"}], "0.secret"),
        ([GOOD | {"types": ["daily"]}], "0.types"),
        ([GOOD | {"name": "a b"}], "0.name"),
        ([GOOD | {"colour": "red"}], "0.colour"),
        ([GOOD, GOOD], "same name"),
        ([GOOD | {"name": f"n{number}"} for number in range(21)], "at most 20"),
    ],
)
def test_a_malformed_list_is_refused_at_the_start_without_telling_its_secrets(
    setting: Any, named: str
) -> None:
    text = setting if isinstance(setting, str) else json.dumps(setting)
    with pytest.raises(SettingsError, match=r"^WEBHOOKS: ") as raised:
        load_settings({**LOCAL, "WEBHOOKS": text})
    assert named in str(raised.value)
    assert "0123456789abcdef" not in str(raised.value)
    assert "short" not in str(raised.value)


def test_a_signature_holds_for_its_body_its_time_and_its_secret_only() -> None:
    header = sign("secret", b"body", 1000)
    assert verify_signature("secret", b"body", header, 1000)
    assert verify_signature("secret", b"body", header, 1300)
    assert not verify_signature("secret", b"body", header, 1301)
    assert not verify_signature("secret", b"body", header, 699)
    assert not verify_signature("other", b"body", header, 1000)
    assert not verify_signature("secret", b"bodY", header, 1000)
    assert not verify_signature("secret", b"body", header.replace("t=1000", "t=1001"), 1001)
    for malformed in ("", "t=1000", "v1=00", "t=x,v1=" + "0" * 64, header + ",v1=" + "0" * 64):
        assert not verify_signature("secret", b"body", malformed, 1000)
