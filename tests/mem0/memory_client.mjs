/** Every method of mem0's client for JavaScript that this server has a route for. */

import assert from "node:assert/strict";
import { createRequire } from "node:module";

const { AuthenticationError, MemoryClient, MemoryNotFoundError, ValidationError } = createRequire(`${process.env.MEM0_JAVASCRIPT}/`)("mem0ai");
const host = process.env.MEMSYNC_URL;
const filters = { user_id: "ana" };
const said = (content) => [{ role: "user", content }];
const texts = ({ results }) => results.map((one) => one.memory);

const client = new MemoryClient({ apiKey: process.env.MEM0_API_KEY, host });
await client.ping();

const added = await client.add(said("Ana is allergic to nuts."), { userId: "ana", infer: false, metadata: { topic: "health" } });
assert.equal(added.status, "SUCCEEDED");
assert.ok(added.eventId);
const id = added.results[0].id;
const tea = (await client.add(said("Ana likes tea."), { userId: "ana", infer: false })).results[0].id;

const [found] = (await client.search("What is Ana allergic to?", { filters })).results;
assert.deepEqual([found.id, found.memory, found.userId], [id, "Ana is allergic to nuts.", "ana"]);
assert.ok(found.score >= 0.1 && found.score <= 1);
const page = await client.getAll({ filters, page: 1, pageSize: 1 });
assert.deepEqual([page.count, texts(page)], [2, ["Ana likes tea."]]);
assert.deepEqual(texts(await client.getAll({ filters: { AND: [filters, { metadata: { topic: "health" } }] } })), [found.memory]);
assert.deepEqual((await client.get(id)).metadata, { topic: "health" });

assert.equal((await client.update(id, { text: "Ana is allergic to peanuts." })).id, id);
assert.equal((await client.get(id)).memory, "Ana is allergic to peanuts.");
assert.deepEqual((await client.history(id)).map((one) => one.event), ["ADD", "UPDATE"]);
await client.batchUpdate([{ memoryId: tea, text: "Ana likes green tea." }]);
assert.equal((await client.get(tea)).memory, "Ana likes green tea.");
assert.equal((await client.feedback({ memoryId: id, feedback: "POSITIVE" })).feedback, "POSITIVE");
assert.deepEqual((await client.users()).results.map(({ type, name }) => [type, name]), [["user", "ana"]]);

const mayNot = new MemoryClient({ apiKey: process.env.KEY_THAT_DELETES_NOTHING, host });
await assert.rejects(mayNot.delete(id), AuthenticationError);
await assert.rejects(mayNot.deleteAll({ userId: "ana" }), AuthenticationError);
await assert.rejects(mayNot.users(), AuthenticationError);
await assert.rejects(client.deleteAll(), ValidationError);
await assert.rejects(client.getAll({ filters: { colour: "red" } }), ValidationError);
assert.equal((await client.getAll({ filters })).count, 2);

assert.ok((await client.delete(id)).message);
await assert.rejects(client.get(id), MemoryNotFoundError);
await client.batchDelete([tea]);
await client.add(said("Ana lives in Porto."), { userId: "ana", infer: false });
assert.ok((await client.deleteAll({ userId: "ana" })).message);
assert.deepEqual(texts(await client.getAll({ filters })), []);
await client.add(said("The helper is polite."), { agentId: "helper", infer: false });
await client.deleteUsers({ agentId: "helper" });
assert.equal((await client.users()).count, 0);
