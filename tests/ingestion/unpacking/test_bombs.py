"""Archives that unpack to far more than their size, or claim to."""

import gzip
import io
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.ingestion.archive_members import SkippedMember, open_members
from shared.ingestion.errors import ArchiveBombError, ArchiveError, CorruptArchiveError
from shared.ingestion.unpacked_streams import UnpackLimits
from tests.ingestion.unpacking.files import mbox, saved, tar_bytes, zip_bytes
from tests.support.services import ROOT

MIB = 1024 * 1024
SMALL = UnpackLimits(total_bytes=2 * MIB, members=50, ratio_free_bytes=64 * 1024)
ROOMY = UnpackLimits(total_bytes=64 * MIB, ratio=100, ratio_free_bytes=MIB)


def drain(path: Path, limits: UnpackLimits) -> int:
    total = 0
    for member in open_members(path, limits):
        while piece := member.stream.read(64 * 1024):
            total += len(piece)
    return total


def long_mail(size: int) -> bytes:
    return mbox("start") + b"\0" * size


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "tar.gz": lambda data: tar_bytes({"a": data}, "w:gz"),
    "tar.xz": lambda data: tar_bytes({"a": data}, "w:xz"),
    "tar.bz2": lambda data: tar_bytes({"a": data}, "w:bz2"),
    "zip": lambda data: zip_bytes({"a": data}),
    "zip of gz": lambda data: zip_bytes({"a.gz": gzip.compress(data)}),
}


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.requirement("R-307")
def test_a_bomb_is_stopped_by_its_ratio_whatever_it_is_packed_in(tmp_path: Path, packer: str) -> None:
    path = saved(tmp_path, PACKERS[packer](long_mail(20 * MIB)))
    with pytest.raises(ArchiveBombError, match="more than 100 times its size; split it, or unpack it first"):
        drain(path, ROOMY)


def test_the_total_is_bounded_over_all_members(tmp_path: Path) -> None:
    files = {f"{number}.mbox": mbox("x") + bytes(range(256)) * 400 for number in range(40)}
    for content in (zip_bytes(files, zipfile.ZIP_STORED), tar_bytes(files)):
        with pytest.raises(
            ArchiveBombError, match=r"\d+\.mbox|file.*: the archive unpacks to more than 2097152 bytes"
        ):
            drain(saved(tmp_path, content), SMALL)
        assert drain(saved(tmp_path, content), UnpackLimits()) > 2 * MIB


def test_the_number_of_members_is_bounded(tmp_path: Path) -> None:
    files = {f"{number}.mbox": mbox("x") for number in range(51)}
    for content in (zip_bytes(files), tar_bytes(files, "w:gz")):
        with pytest.raises(ArchiveBombError, match=r"50\.mbox: the archive has more than 50 members"):
            drain(saved(tmp_path, content), SMALL)


def test_folders_and_links_count_as_members(tmp_path: Path) -> None:
    links = []
    for number in range(60):
        link = tarfile.TarInfo(f"link{number}")
        link.type, link.linkname = tarfile.LNKTYPE, "a.mbox"
        links.append(link)
    with pytest.raises(ArchiveBombError, match="more than 50 members"):
        drain(saved(tmp_path, tar_bytes({"a.mbox": mbox("x")}, "w", *links)), SMALL)


def test_a_zip_directory_larger_than_the_members_allowed_is_not_even_read(tmp_path: Path) -> None:
    files = {f"{number:0200d}": b"" for number in range(8000)}
    with pytest.raises(ArchiveBombError, match="its directory has"):
        drain(saved(tmp_path, zip_bytes(files)), SMALL)


def lying_zip(size: int) -> bytes:
    content = bytearray(zip_bytes({"a.mbox": mbox("x", "y")}))
    directory = content.index(b"PK\x01\x02")
    content[directory + 24 : directory + 28] = struct.pack("<I", size)
    return bytes(content)


def test_a_zip_that_says_less_than_it_holds_is_damaged(tmp_path: Path) -> None:
    with pytest.raises(CorruptArchiveError, match=r"a\.mbox: the zip data is damaged"):
        drain(saved(tmp_path, lying_zip(5)), SMALL)


@pytest.mark.parametrize("said", [100_000, 2**32 - 2])
def test_a_zip_that_says_more_than_it_holds_gives_what_it_holds(tmp_path: Path, said: int) -> None:
    assert drain(saved(tmp_path, lying_zip(said)), SMALL) == len(mbox("x", "y"))


def test_zip_members_that_share_their_data_count_each_time(tmp_path: Path) -> None:
    """Overlapping members share one piece of data: a thousand entries, one piece."""
    content = zip_bytes({"a.mbox": long_mail(MIB)})
    directory = content.index(b"PK\x01\x02")
    end = content.index(b"PK\x05\x06")
    entries = content[directory:end] * 40
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 40, 40, len(entries), directory, 0)
    with pytest.raises(ArchiveBombError):
        drain(saved(tmp_path, content[:directory] + entries + tail), ROOMY)


def tar_header(name: bytes, kind: bytes, size: bytes) -> bytes:
    block = bytearray(512)
    block[: len(name)], block[156:157], block[257:263] = name, kind, b"ustar\0"
    block[124 : 124 + len(size)] = size
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def test_a_sparse_file_is_passed_over_and_not_expanded(tmp_path: Path) -> None:
    sparse = bytearray(tar_header(b"huge", b"S", b"00000001000\0"))
    sparse[483:495] = b"77777777777\0"  # the size after expansion: 8 GiB
    sparse[148:156] = b" " * 8
    sparse[148:156] = b"%06o\0 " % sum(sparse)
    content = bytes(sparse) + bytes(512) + tar_bytes({"a.mbox": mbox("x")})
    notes: list[SkippedMember] = []
    names = [member.name for member in open_members(saved(tmp_path, content), on_skip=notes.append)]
    assert names == ["a.mbox"]
    assert notes == [SkippedMember("huge", "a sparse file is not read")]


def test_a_pax_sparse_file_is_passed_over_too(tmp_path: Path) -> None:
    record = b"22 GNU.sparse.major=1\n"
    content = tar_header(b"x", b"x", b"%011o\0" % len(record)) + record.ljust(512, b"\0")
    content += tar_header(b"huge", b"0", b"00000001000\0") + bytes(512) + tar_bytes({"a.mbox": mbox("x")})
    notes: list[SkippedMember] = []
    assert [member.name for member in open_members(saved(tmp_path, content), on_skip=notes.append)] == [
        "a.mbox"
    ]
    assert [note.reason for note in notes] == ["a sparse file is not read"]


def test_a_hard_link_that_claims_a_size_has_no_content(tmp_path: Path) -> None:
    content = tar_header(b"link", b"1", b"77777777777\0") + tar_bytes({"a.mbox": mbox("x")})
    assert [member.name for member in open_members(saved(tmp_path, content))] == ["a.mbox"]


@pytest.mark.parametrize("kind", [b"x", b"L", b"g", b"K"])
def test_an_extended_header_of_gigabytes_is_not_read_into_memory(tmp_path: Path, kind: bytes) -> None:
    content = tar_header(b"x", kind, b"77777777777\0") + b"0" * 4096
    with pytest.raises(ArchiveBombError, match="extended headers"):
        drain(saved(tmp_path, content), ROOMY)


def test_a_chain_of_extended_headers_ends(tmp_path: Path) -> None:
    record = b"12 path=abc\n"
    one = tar_header(b"x", b"x", b"%011o\0" % len(record)) + record.ljust(512, b"\0")
    with pytest.raises(ArchiveBombError, match="more than 16 of them"):
        drain(saved(tmp_path, one * 5000 + tar_bytes({"a": mbox("x")})), ROOMY)


@pytest.mark.parametrize(
    "record", [b"0 a=b\n", b"99999999999999999999 a=b\n", b"path\n", b"-5 a=b\n", b"2 a\n"]
)
def test_a_malformed_pax_record_is_damage_and_no_endless_loop(tmp_path: Path, record: bytes) -> None:
    content = tar_header(b"x", b"x", b"%011o\0" % len(record)) + record.ljust(512, b"\0")
    with pytest.raises(CorruptArchiveError, match="extended header is malformed"):
        drain(saved(tmp_path, content + tar_bytes({"a": mbox("x")})), ROOMY)


@pytest.mark.parametrize("size", [b"\xff" + b"\xff" * 11, b"\x80" + b"\xff" * 11, b"8888888888\0"])
def test_a_size_that_is_negative_enormous_or_no_number_is_damage(tmp_path: Path, size: bytes) -> None:
    content = tar_header(b"a.mbox", b"0", size) + mbox("x").ljust(512, b"\0")
    with pytest.raises(ArchiveError):
        drain(saved(tmp_path, content), ROOMY)


def test_an_xz_that_asks_for_gigabytes_of_dictionary_is_refused(tmp_path: Path) -> None:
    import lzma  # noqa: PLC0415 - next to its only use

    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]
    content = bytearray(lzma.compress(mbox("x"), filters=filters))
    header_size = (content[12] + 1) * 4
    content[12 + 4] = 40  # the dictionary's size in LZMA2's code: 4 GiB - 1
    content[12 + header_size - 4 : 12 + header_size] = struct.pack(
        "<I", zlib.crc32(bytes(content[12 : 12 + header_size - 4]))
    )
    with pytest.raises(CorruptArchiveError, match=r"[Mm]emory"):
        drain(saved(tmp_path, bytes(content)), ROOMY)


def test_memory_stays_flat_while_a_large_archive_is_read(tmp_path: Path) -> None:
    """A separate process reads 300 MB of mail in a tar.gz with 64 MB more memory than it starts with."""
    target = tmp_path / "large.tar.gz"
    block = mbox("x") * 40_000
    with tarfile.open(target, "w:gz", compresslevel=1) as archive:
        for number in range(50):
            info = tarfile.TarInfo(f"{number}.mbox")
            info.size = len(block)
            archive.addfile(info, io.BytesIO(block))
    code = f"""
import resource
from pathlib import Path
from shared.ingestion.unpacked_streams import UnpackLimits; from shared.ingestion.archive_members import open_members
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
total = 0
for member in open_members(Path({str(target)!r}), UnpackLimits(ratio=5000)):
    while piece := member.stream.read(1024 * 1024):
        total += len(piece)
print(total, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    total, grown = map(int, ended.stdout.split())
    assert total == len(block) * 50
    assert grown * 1024 < 64 * MIB
