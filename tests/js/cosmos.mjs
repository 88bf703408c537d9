// Drives the local Cosmos DB with Microsoft's JavaScript client; run by localcloud/tests/cosmos.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { CosmosClient } from "@azure/cosmos";

const endpoint = process.env.COSMOS_ENDPOINT;
const client = new CosmosClient({ endpoint, key: process.env.COSMOS_KEY, consistencyLevel: "Session" });
const { database } = await client.databases.create({ id: `js-${randomUUID()}` });
const { container } = await database.containers.create({ id: "c", partitionKey: { paths: ["/pk"], version: 2 } });
const all = async (query, options) => (await container.items.query(query, options).fetchAll()).resources;
const status = async (promise) => promise.then((r) => r.statusCode, (error) => error.code);

// documents
for (let n = 0; n < 30; n++) await container.items.create({ id: `i${n}`, pk: `p${n % 5}`, n, g: n % 3, tags: ["a", `t${n}`] });
assert.equal((await container.item("i7", "p2").read()).resource.n, 7);
assert.equal((await container.item("none", "p2").read()).statusCode, 404);
assert.equal(await status(container.items.create({ id: "i7", pk: "p2" })), 409);
const { resource: patched } = await container.item("i7", "p2").patch([{ op: "incr", path: "/n", value: 100 }]);
assert.equal(patched.n, 107);
const stale = { accessCondition: { type: "IfMatch", condition: '"stale"' } };
assert.equal(await status(container.item("i7", "p2").replace({ id: "i7", pk: "p2", n: 7, g: 1 }, stale)), 412);
await container.item("i7", "p2").replace({ id: "i7", pk: "p2", n: 7, g: 1 });
await container.items.upsert({ id: "extra", pk: "p0", n: 1000 });
await container.item("extra", "p0").delete();

// queries over all ranges
assert.equal((await all("SELECT * FROM c")).length, 30);
assert.deepEqual(await all("SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 1 LIMIT 3"), [28, 27, 26]);
assert.deepEqual(await all("SELECT VALUE COUNT(1) FROM c"), [30]);
assert.deepEqual(await all("SELECT VALUE AVG(c.n) FROM c"), [14.5]);
assert.deepEqual(await all("SELECT VALUE MAX(c.n) FROM c"), [29]);
assert.deepEqual((await all("SELECT DISTINCT VALUE c.pk FROM c")).sort(), ["p0", "p1", "p2", "p3", "p4"]);
assert.equal((await all("SELECT TOP 4 * FROM c")).length, 4);
const groups = await all("SELECT c.g, COUNT(1) AS count, SUM(c.n) AS total FROM c GROUP BY c.g");
assert.deepEqual(groups.sort((a, b) => a.g - b.g), [
  { g: 0, count: 10, total: 135 },
  { g: 1, count: 10, total: 145 },
  { g: 2, count: 10, total: 155 },
]);
assert.deepEqual((await all("SELECT VALUE COUNT(1) FROM c GROUP BY c.g")).sort(), [10, 10, 10]);
const both = await all("SELECT COUNT(1) AS count, MIN(c.n) AS least FROM c");
assert.deepEqual(both, [{ count: 30, least: 0 }]);
const spec = { query: "SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(c.tags, @t)", parameters: [{ name: "@t", value: "t9" }] };
assert.deepEqual(await all(spec), ["i9"]);
assert.deepEqual(await all("SELECT VALUE c.n FROM c ORDER BY c.n", { partitionKey: "p1" }), [1, 6, 11, 16, 21, 26]);

// pages
const pages = container.items.query("SELECT * FROM c", { partitionKey: "p1", maxItemCount: 4 });
const first = await pages.fetchNext();
assert.equal(first.resources.length, 4);
const rest = container.items.query("SELECT * FROM c", { partitionKey: "p1", maxItemCount: 4, continuationToken: first.continuationToken });
assert.equal((await rest.fetchAll()).resources.length, 2);

// ORDER BY over all ranges, resumed by its token in a new iterator for each page; g has ties
for (const direction of ["ASC", "DESC"]) {
  const query = `SELECT c.id, c.g FROM c ORDER BY c.g ${direction}`;
  const seen = [];
  let continuationToken;
  do {
    const resumed = container.items.query(query, { maxItemCount: 4, enableQueryControl: true, continuationToken });
    const page = await resumed.fetchNext();
    seen.push(...page.resources);
    continuationToken = page.continuationToken;
  } while (continuationToken);
  assert.equal(seen.length, 30);
  assert.equal(new Set(seen.map((item) => item.id)).size, 30);
  assert.deepEqual(seen.map((item) => item.g), (await all(query)).map((item) => item.g));
}

// batches and bulk
const batch = (names) => names.map((id) => ({ operationType: "Create", resourceBody: { id, pk: "z" } }));
assert.equal((await container.items.batch(batch(["b1", "b2"]), "z")).code, 200);
const failed = await container.items.batch(batch(["b3", "b1"]), "z");
assert.deepEqual(failed.result.map((r) => r.statusCode), [424, 409]);
assert.equal((await container.item("b3", "z").read()).statusCode, 404);
const bulk = await container.items.executeBulkOperations(
  Array.from({ length: 20 }, (_, n) => ({ operationType: "Create", partitionKey: `k${n}`, resourceBody: { id: `k${n}`, pk: `k${n}` } })),
);
assert.deepEqual(new Set(bulk.map((r) => r.response.statusCode)), new Set([201]));

// change feed
let changes = 0;
const feed = container.items.getChangeFeedIterator({ changeFeedStartFrom: (await import("@azure/cosmos")).ChangeFeedStartFrom.Beginning() });
for (let empty = 0; empty < 6; ) {
  const page = await feed.readNext();
  if (page.statusCode === 304) empty++;
  else changes += page.result.length;
}
assert.equal(changes, 52);

// read your writes past a lagging replica
const lag = async (seconds) => fetch(`${endpoint}/_localcloud/lag`, { method: "PUT", body: JSON.stringify({ seconds }) });
await lag(60);
try {
  await container.items.create({ id: "fresh", pk: "p0" });
  assert.equal((await container.item("fresh", "p0").read()).resource?.id, "fresh");
  const other = new CosmosClient({ endpoint, key: process.env.COSMOS_KEY }).database(database.id).container("c");
  assert.equal((await other.item("fresh", "p0").read()).statusCode, 404);
} finally {
  await lag(0);
}
await database.delete();
console.log("all checks passed");
process.exit(0);
