"""Index and alias definitions through Microsoft's SDK, and the real service's rules for them."""

import uuid
from typing import Any

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import (
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)
from azure.search.documents.indexes.models import (
    HnswAlgorithmConfiguration,
    SearchableField,
    SearchAlias,
    SearchField,
    SearchFieldDataType,
    SearchIndex,
    SimpleField,
    VectorSearch,
    VectorSearchProfile,
)

from tests.search.conftest import KEY, VECTORS, Search, vector_field

EUCLIDEAN = {"name": "x", "kind": "hnsw", "hnswParameters": {"metric": "euclidean"}}


def new_name() -> str:
    return f"test-{uuid.uuid4().hex}"


def index(name: str, *more: SearchField) -> SearchIndex:
    return SearchIndex(
        name=name,
        fields=[
            SimpleField(name="id", type=SearchFieldDataType.STRING, key=True),
            SearchableField(name="text", type=SearchFieldDataType.STRING, analyzer_name="en.lucene"),
            SimpleField(name="rating", type=SearchFieldDataType.INT32, filterable=True, sortable=True),
            SearchField(
                name="vector",
                type="Collection(Edm.Single)",
                searchable=True,
                vector_search_dimensions=3,
                vector_search_profile_name="profile",
            ),
            *more,
        ],
        vector_search=VectorSearch(
            algorithms=[HnswAlgorithmConfiguration(name="hnsw")],
            profiles=[VectorSearchProfile(name="profile", algorithm_configuration_name="hnsw")],
        ),
    )


def test_an_index_is_returned_as_created_with_defaults(search: Search) -> None:
    name = new_name()
    created = search.indexes().create_index(index(name))
    assert created.e_tag
    got = search.indexes().get_index(name)
    assert [field.name for field in got.fields] == ["id", "text", "rating", "vector"]
    assert got.fields[1].analyzer_name == "en.lucene"
    assert got.vector_search is not None
    assert got.vector_search.algorithms is not None
    algorithm = got.vector_search.algorithms[0]
    assert isinstance(algorithm, HnswAlgorithmConfiguration)
    assert algorithm.parameters is not None
    assert (algorithm.parameters.m, algorithm.parameters.ef_construction, algorithm.parameters.ef_search) == (
        *(4, 400, 500),
    )
    assert got.similarity is not None
    assert got.e_tag == created.e_tag


def test_fields_have_the_defaults_of_the_service(search: Search) -> None:
    fields: list[dict[str, Any]] = [
        {"name": "id", "type": "Edm.String", "key": True},
        {"name": "number", "type": "Edm.Double"},
        {"name": "tags", "type": "Collection(Edm.String)"},
    ]
    name = search.create(fields, [])
    shown = search.call("GET", f"/indexes('{name}')").body["fields"]
    flags = ("searchable", "filterable", "sortable", "facetable", "retrievable")
    assert [shown[0][flag] for flag in flags] == [True, True, True, True, True]
    assert [shown[1][flag] for flag in flags] == [False, True, True, True, True]
    assert [shown[2][flag] for flag in flags] == [True, True, False, True, True]


def test_indexes_are_listed_and_deleted(search: Search) -> None:
    name = new_name()
    client = search.indexes()
    client.create_index(index(name))
    assert name in list(client.list_index_names())
    assert name in [item.name for item in client.list_indexes()]
    client.delete_index(name)
    assert name not in list(client.list_index_names())
    with pytest.raises(ResourceNotFoundError):
        client.get_index(name)
    assert search.call("DELETE", f"/indexes('{name}')").status == 404


def test_creating_an_index_twice_is_a_conflict(search: Search) -> None:
    name = new_name()
    search.indexes().create_index(index(name))
    with pytest.raises(ResourceExistsError):
        search.indexes().create_index(index(name))


def test_create_says_where_the_index_is_and_put_whether_it_is_new(search: Search) -> None:
    name = new_name()
    definition = {"name": name, "fields": [KEY]}
    created = search.call("PUT", f"/indexes/{name}", definition)
    again = search.call("PUT", f"/indexes('{name}')", definition)
    assert (created.status, again.status) == (201, 200)
    assert created.headers["etag"] == f"W/{created.body['@odata.etag']}"
    assert again.body["@odata.etag"] != created.body["@odata.etag"]
    posted = search.call("POST", "/indexes", {"name": new_name(), "fields": [KEY]})
    assert posted.headers["location"].startswith(f"{search.endpoint}/indexes('test-")


def test_a_field_can_be_added_and_is_null_in_the_documents_there_are(search: Search) -> None:
    name = new_name()
    client, documents = search.indexes(), search.documents(name)
    client.create_index(index(name))
    documents.upload_documents([{"id": "1", "text": "before"}])
    added = SearchableField(name="more", type=SearchFieldDataType.STRING, filterable=True, sortable=True)
    client.create_or_update_index(index(name, added))
    documents.upload_documents([{"id": "2", "text": "after", "more": "new words"}])
    assert documents.get_document("1")["more"] is None
    assert [item["id"] for item in documents.search("words")] == ["2"]
    assert [item["id"] for item in documents.search("*", filter="more eq null")] == ["1"]
    assert [item["id"] for item in documents.search("*", order_by=["more desc"])] == ["2", "1"]


@pytest.mark.parametrize(
    "change",
    [
        {"type": "Edm.Int64"},
        {"filterable": False},
        {"sortable": False},
        {"facetable": False},
        {"name": "renamed"},
    ],
)
def test_an_existing_field_cannot_change(search: Search, change: dict[str, Any]) -> None:
    field = {"name": "number", "type": "Edm.Int32"}
    name = search.create([KEY, field], [])
    answer = search.call("PUT", f"/indexes('{name}')", {"name": name, "fields": [KEY, field | change]})
    assert (answer.status, answer.body["error"]["code"]) == (400, "OperationNotAllowed")
    assert "number" in answer.message


def test_retrievable_may_change(search: Search) -> None:
    field = {"name": "text", "type": "Edm.String", "analyzer": "en.lucene"}
    name = search.create([KEY, field], [{"id": "1", "text": "running"}])
    changed = field | {"retrievable": False}
    assert search.call("PUT", f"/indexes('{name}')", {"name": name, "fields": [KEY, changed]}).status == 200
    assert search.found(name, search="run") == ["1"]
    assert "text" not in search.search(name, search="*").body["value"][0]


def test_an_analyzer_cannot_change_though_downtime_is_allowed(search: Search) -> None:
    name = new_name()
    client = search.indexes()
    client.create_index(index(name))
    changed = client.get_index(name)
    text = next(field for field in changed.fields if field.name == "text")
    assert text.analyzer_name == "en.lucene"
    text.analyzer_name = "standard.lucene"
    with pytest.raises(HttpResponseError, match="text"):
        client.create_or_update_index(changed, allow_index_downtime=True)


def test_etags_guard_updates_and_deletes(search: Search) -> None:
    name = new_name()
    client = search.indexes()
    first = client.create_index(index(name))
    second = client.create_or_update_index(first, match_condition=MatchConditions.IfNotModified)
    with pytest.raises(ResourceModifiedError):
        client.create_or_update_index(first, match_condition=MatchConditions.IfNotModified)
    with pytest.raises(ResourceModifiedError):
        client.delete_index(first, match_condition=MatchConditions.IfNotModified)
    client.delete_index(second, match_condition=MatchConditions.IfNotModified)
    create_only = {"If-None-Match": "*"}
    definition = {"name": name, "fields": [KEY]}
    assert search.call("PUT", f"/indexes('{name}')", definition, headers=create_only).status == 201
    assert search.call("PUT", f"/indexes('{name}')", definition, headers=create_only).status == 412
    assert search.call("PUT", "/indexes('not-there')", definition, headers={"If-Match": "*"}).status in (
        400,
        412,
    )


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ([], "exactly one key"),
        ([{"name": "a", "type": "Edm.String"}], "exactly one key"),
        ([KEY, KEY | {"name": "other"}], "exactly one key"),
        ([KEY | {"type": "Edm.Int32", "searchable": False}], "exactly one key"),
        ([KEY, {"name": "x", "type": "Edm.GeographyPoint"}], "Edm.GeographyPoint"),
        ([KEY, {"name": "x", "type": "Edm.Nothing"}], "Edm.Nothing"),
        ([KEY, {"name": "x", "type": "Edm.Int32", "searchable": True}], "cannot be searchable"),
        ([KEY, {"name": "x", "type": "Collection(Edm.String)", "sortable": True}], "cannot be sortable"),
        ([KEY, {"name": "x", "type": "Edm.String", "analyzer": "xx.lucene"}], "xx.lucene"),
        ([KEY, {"name": "x y", "type": "Edm.String"}], "field name"),
        ([KEY, {"name": "ID", "type": "Edm.String"}], "Duplicate"),
        ([KEY, {"name": "x", "type": "Edm.String", "surprise": 1}], "surprise"),
        ([KEY, {"name": "x", "type": "Edm.String", "synonymMaps": ["m"]}], "synonym maps"),
        ([KEY, {"name": "x", "type": "Edm.ComplexType", "fields": [KEY]}], "complex fields"),
        ([KEY, {"name": "x", "type": "Collection(Edm.ComplexType)"}], "Edm.ComplexType"),
        ([KEY, {"name": "x", "type": "Edm.String", "searchAnalyzer": "en.lucene"}], "analyzers that differ"),
        ([KEY, vector_field("v", 1)], "dimensions"),
        ([KEY, vector_field("v", 3, "absent")], "profile"),
        ([KEY, vector_field("v", 3, filterable=True)], "filterable"),
    ],
)
def test_a_definition_that_makes_no_sense_is_refused(search: Search, fields: list[Any], says: str) -> None:
    answer = search.call("POST", "/indexes", {"name": new_name(), "fields": fields, "vectorSearch": VECTORS})
    assert answer.status == 400
    assert says in answer.message


@pytest.mark.parametrize(
    ("feature", "says"),
    [
        ({"semantic": {"configurations": [{"name": "x"}]}}, "semantic"),
        ({"scoringProfiles": [{"name": "x"}]}, "scoring profiles"),
        ({"analyzers": [{"name": "x"}]}, "custom analyzers"),
        ({"encryptionKey": {"keyVaultUri": "x"}}, "keys"),
        ({"vectorSearch": {"vectorizers": [{"name": "x"}]}}, "vectorizers"),
        ({"vectorSearch": {"compressions": [{"name": "x"}]}}, "compression"),
        ({"similarity": {"@odata.type": "#Microsoft.Azure.Search.ClassicSimilarity"}}, "similarity"),
        ({"similarity": {"@odata.type": "#Microsoft.Azure.Search.BM25Similarity", "b": 0.5}}, "similarity"),
        ({"suggesters": [{"name": "x", "sourceFields": ["id"]}]}, "suggesters"),
        ({"corsOptions": {"allowedOrigins": ["*"]}}, "cross-origin"),
        ({"vectorSearch": {"algorithms": [EUCLIDEAN]}}, "euclidean"),
        ({"unheard": 1}, "unheard"),
    ],
)
def test_an_unsupported_feature_is_reported(search: Search, feature: dict[str, Any], says: str) -> None:
    answer = search.call("POST", "/indexes", {"name": new_name(), "fields": [KEY], **feature})
    assert answer.status == 400
    assert says in answer.message


@pytest.mark.parametrize("name", ["Upper", "a", "-a", "a-", "a--b", "a__b", "_a", "a" * 129, "", None, 7])
def test_index_names_follow_the_rules(search: Search, name: object) -> None:
    assert search.call("POST", "/indexes", {"name": name, "fields": [KEY]}).status == 400


def test_an_index_name_may_have_dashes_and_underscores(search: Search) -> None:
    name = f"message_embeddings-{uuid.uuid4().hex}"
    assert search.call("POST", "/indexes", {"name": name, "fields": [KEY]}).status == 201
    assert search.documents(name).get_document_count() == 0


@pytest.mark.parametrize("operation", ["docs/search.post.suggest", "docs/autocomplete", "search.analyze"])
def test_operations_that_are_not_supported_are_a_clear_400(search: Search, operation: str) -> None:
    answer = search.call("POST", f"/indexes('{search.create([KEY], [])}')/{operation}", {})
    assert answer.status == 400
    assert f"does not support {operation.rpartition('.')[2].rpartition('/')[2]}" in answer.message


@pytest.mark.parametrize(
    "kind", ["indexers", "datasources", "skillsets", "synonymmaps", "knowledgebases", "servicestats"]
)
def test_other_resources_of_the_service_are_a_clear_400(search: Search, kind: str) -> None:
    answer = search.call("GET", f"/{kind}")
    assert answer.status == 400
    assert kind in answer.message


def test_an_alias_refers_to_its_index_and_can_be_moved(search: Search) -> None:
    one = search.create([KEY], [{"id": "in-one"}])
    two = search.create([KEY], [{"id": "in-two"}])
    alias = new_name()
    client, documents = search.indexes(), search.documents(alias)
    created = client.create_alias(SearchAlias(name=alias, indexes=[one]))
    assert [item["id"] for item in documents.search("*")] == ["in-one"]
    documents.upload_documents([{"id": "through-the-alias"}])
    assert search.documents(one).get_document_count() == 2
    client.create_or_update_alias(SearchAlias(name=alias, indexes=[two]))
    assert documents.get_document("in-two")["id"] == "in-two"
    assert alias in [item.name for item in client.list_aliases()]
    assert client.get_alias(alias).indexes == [two]
    with pytest.raises(ResourceModifiedError):
        client.delete_alias(created, match_condition=MatchConditions.IfNotModified)
    client.delete_alias(alias)
    with pytest.raises(ResourceNotFoundError):
        documents.get_document_count()


def test_an_alias_needs_one_index_that_exists(search: Search) -> None:
    with pytest.raises(HttpResponseError, match="does not exist"):
        search.indexes().create_alias(SearchAlias(name=new_name(), indexes=["not-there"]))
    assert search.call("POST", "/aliases", {"name": new_name(), "indexes": []}).status == 400


def test_an_index_with_an_alias_cannot_be_deleted(search: Search) -> None:
    name, alias = search.create([KEY], [{"id": "1"}]), new_name()
    client = search.indexes()
    client.create_alias(SearchAlias(name=alias, indexes=[name]))
    with pytest.raises(HttpResponseError, match=alias) as refused:
        client.delete_index(name)
    assert refused.value.status_code == 400
    assert search.documents(alias).get_document_count() == 1
    client.delete_alias(alias)
    client.delete_index(name)
    assert name not in list(client.list_index_names())


def test_statistics_count_the_stored_documents(search: Search) -> None:
    name = search.create(
        [KEY, vector_field("v", 3)], [{"id": str(n), "v": [1, 2, n]} for n in range(10)], vectorSearch=VECTORS
    )
    statistics = search.indexes().get_index_statistics(name)
    assert statistics.document_count == 10
    assert statistics.vector_index_size == 10 * 3 * 4
    assert statistics.storage_size > 0
