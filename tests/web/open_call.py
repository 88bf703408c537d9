"""A list whose last call has no result yet: the last call of the samples without the chair's closing mail."""

import json
import mailbox
from contextlib import closing

from tests.web.site import SAMPLES, Site

SOURCE = "calls"
SUBJECT = "Working group last call"


def archive_of_the_open_call() -> bytes:
    """The mails of the call, with ids of their own, so that they are not copies of the sample list's mails."""
    with closing(mailbox.mbox(SAMPLES["tally"])) as box:
        mails = [mail for mail in box if SUBJECT in str(mail["Subject"])]
    *call, last = mails
    assert "The document is not ready" in last.as_string()
    return b"".join(mail.as_bytes(unixfrom=True).replace(b"<wglc-", b"<open-") + b"\n" for mail in call)


def upload_open_call(site: Site) -> None:
    """Report the list of the open call, once for all tests of a site."""
    if SOURCE in site.archives:
        return
    source = {"name": SOURCE, "source_type": "upload", "preset": "ietf"}
    chair = {"person": "tomasz@w-networks.example", "name": "Tomasz Wieczorek", "role": "chair"}
    assert site.host.ask("POST", "/api/sources", json.dumps(source | {"roles": [chair]})).status == 201
    site.wait_until_reported(site.upload(SOURCE, archive_of_the_open_call()))
