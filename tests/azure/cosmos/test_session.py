from hypothesis import given
from hypothesis import strategies as st

from shared.azure.cosmos.session import Session, merge_tokens

tokens = st.dictionaries(
    st.sampled_from(["0", "1", "2"]), st.tuples(st.integers(-1, 3), st.integers(0, 50)), max_size=3
).map(lambda parts: ",".join(f"{r}:{version}#{lsn}" for r, (version, lsn) in parts.items()))


def test_the_newest_position_of_each_range_is_kept() -> None:
    assert merge_tokens("0:-1#5,1:-1#9", "0:-1#7,2:-1#1") == "0:-1#7,1:-1#9,2:-1#1"


def test_numbers_compare_as_numbers() -> None:
    assert merge_tokens("0:-1#9", "0:-1#10") == "0:-1#10"


def test_a_token_with_regions_is_kept_whole() -> None:
    assert merge_tokens("0:1#100#1=20#2=5", "0:1#90#1=99") == "0:1#100#1=20#2=5"


def test_a_new_version_of_a_range_wins_over_a_longer_old_one() -> None:
    assert merge_tokens("0:1#900", "0:2#3") == "0:2#3"


def test_what_is_no_token_does_not_hide_one() -> None:
    assert merge_tokens("0:nonsense", "0:-1#3") == "0:-1#3"
    assert merge_tokens("0:-1#3", "0:nonsense") == "0:-1#3"


@given(tokens, tokens, tokens)
def test_the_order_of_merging_does_not_matter(a: str, b: str, c: str) -> None:
    assert merge_tokens(a, merge_tokens(b, c)) == merge_tokens(merge_tokens(c, a), b)
    assert merge_tokens(a, a) == merge_tokens(a)


def test_a_session_collects_per_container() -> None:
    session = Session({"messages": "0:-1#5"})
    session.observe("messages", "0:-1#6")
    session.observe("chunks", "1:-1#2")
    session.observe("chunks", None)
    other = Session({"chunks": "1:-1#9"})
    session.merge(other)
    assert session.tokens() == {"messages": "0:-1#6", "chunks": "1:-1#9"}
    assert session.token("archives") is None
