/** The client against a served process, named by MEMSYNC_URL and MEMSYNC_API_KEY (tests/clients/test_javascript.py). */

import assert from "node:assert/strict";
import { test } from "node:test";

import { AuthenticationError, InvalidRequestError, Memsync, NotFoundError, PermissionDeniedError } from "../src/index.ts";

const person = (name: string) => new Memsync({ endUser: `${name}-${Math.random().toString(36).slice(2)}` });
const HAZELNUTS = "I am allergic to hazelnuts.";

async function all<Entry>(entries: AsyncIterable<Entry>): Promise<Entry[]> {
  const found: Entry[] = [];
  for await (const entry of entries) found.push(entry);
  return found;
}

test("a text is stored and answers a question, for its end user alone", async () => {
  const alice = person("алиса");

  const added = await alice.add(HAZELNUTS, { tags: ["health"], metadata: { page: 3 } });
  const skipped = await alice.add("ok thanks!");
  const found = await alice.recall("Which food would make me ill?", { k: 1, filters: { tags: ["health"] } });
  const other = await alice.for("bob-of-nothing").recall("Which food would make me ill?");

  assert.ok("text" in added && added.text === HAZELNUTS);
  assert.ok("reason" in skipped && skipped.reason === "no_high_value_content");
  assert.equal(found.memories[0]?.id, added.id);
  assert.deepEqual(other.memories, []);
  assert.deepEqual((await alice.get(added.id)).metadata, { page: 3 });
});

test("answers quote memories, and prompts contain them", async () => {
  const alice = person("alice");
  await alice.add("The choir meets on Thursday evenings.", { importance: 0.7 });

  const answer = await alice.ask("When does the choir meet?", { max_memories: 1 });
  const prompt = await alice.compose("When does the choir meet?\n{{memories}}", { recall_k: 1 });

  assert.match(answer.answer, /Thursday/);
  assert.equal(answer.citations.length, 1);
  assert.match(prompt.composed_prompt, /The choir meets on Thursday evenings\./);
});

test("lists are read page by page", async () => {
  const alice = person("alice");
  const report = await alice.addMany(
    Array.from({ length: 5 }, (_, number) => ({ text: `Box ${number} is on shelf ${number + 10}.`, importance: 0.7 })),
  );

  const listed = await all(alice.list({ pageSize: 2 }));

  assert.equal(report.created, 5);
  assert.equal(listed.length, 5);
  assert.equal(new Set(listed.map((memory) => memory.memory_id)).size, 5);
});

test("labels are changed, and what cannot be done has an error of its own kind", async () => {
  const alice = person("alice");
  const added = await alice.add(HAZELNUTS);
  assert.ok("text" in added);

  const changed = await alice.update(added.id, { tags: ["health"], importance: 0.9 });

  assert.deepEqual(changed.tags, ["health"]);
  await assert.rejects(alice.get(999_999_999), (error) => error instanceof NotFoundError && error.code === "MEMORY_NOT_FOUND");
  await assert.rejects(alice.recall("x", { k: 500 }), (error) => {
    assert.ok(error instanceof InvalidRequestError && error.requestId);
    assert.deepEqual(error.details[0]?.loc, ["body", "k"]);
    return true;
  });
  await assert.rejects(alice.update(added.id, { pinned: true }), PermissionDeniedError);
  const stranger = new Memsync({ apiKey: "ms_dev_unknown", endUser: "alice" });
  await assert.rejects(stranger.recall("x"), AuthenticationError);
  await assert.rejects(async () => new Memsync({ endUser: "" }).recall("x"), TypeError);
});

test("a deletion is asked for, and stays with the person who confirms it", async () => {
  const alice = person("alice");
  const added = await alice.add(HAZELNUTS);
  assert.ok("text" in added);

  const request = await alice.requestForget({ memory_ids: [added.id], reason: "The user asked for it." });
  const again = await alice.requestForget({ memory_ids: [added.id] });

  assert.equal(request.status, "pending");
  assert.equal(again.id, request.id);
  assert.deepEqual((await all(alice.forgetRequests({ pageSize: 1 }))).map((one) => one.id), [request.id]);
  assert.equal((await alice.get(added.id)).text, HAZELNUTS);
});

test("turns are stored once, listed, and memories are extracted from the user's", async () => {
  const alice = person("alice");
  const turns = [
    { role: "user", content: "I live in Lisbon.", seq: 0 },
    { role: "assistant", content: "How nice!", seq: 1 },
  ];

  await alice.turns.append("s1", turns);
  const again = await alice.turns.append("s1", turns);
  const receipt = await alice.turns.add({ role: "user", text: "My sister Nina lives in Turin.", session_id: "s2" });

  assert.deepEqual(again.items.map((item) => item.created), [false, false]);
  assert.deepEqual((await alice.turns.list({ session_id: "s1" })).items.map((item) => item.content), ["I live in Lisbon.", "How nice!"]);
  assert.equal(receipt.processing_status, "completed");
  assert.deepEqual((await all(alice.sessions())).map((one) => one.session_id).sort(), ["s1", "s2"]);
  assert.match((await alice.recall("Where do I live?")).context, /I live in Lisbon\./);
});

test("state is put, read, searched and deleted", async () => {
  const alice = person("alice");
  const namespace = ["users", "alice"];

  const put = await alice.state.put({ namespace, key: "profile", value: { tone: "brief" } });

  assert.equal(put.created, true);
  assert.deepEqual((await alice.state.get(namespace, "profile"))?.value, { tone: "brief" });
  assert.equal(await alice.state.get(namespace, "nothing"), null);
  assert.equal((await alice.state.list({ namespace_prefix: ["users"] })).total, 1);
  assert.equal((await alice.state.search("brief")).items[0]?.key, "profile");
  assert.equal((await alice.state.delete(namespace, ["profile"])).deleted_ids.length, 1);
});

test("events arrive as they happen, and the stream ends with its signal", async () => {
  const alice = person("alice");
  const closing = new AbortController();
  const seen: number[] = [];

  const listening = assert.rejects(async () => {
    for await (const { type, event } of alice.events({ types: ["memory.created"], signal: closing.signal })) {
      assert.equal(type, "memory.created");
      seen.push(event.data["memory_id"] as number);
      if (seen.length === 2) closing.abort();
    }
  }, { name: "AbortError" });
  const added: number[] = [];
  while (!closing.signal.aborted) {
    // A stream begins with the next event, so what is added before it is open is not seen.
    const one = await alice.add(`Box ${added.length} is on shelf ${added.length + 10}.`, { importance: 0.7 });
    added.push("id" in one ? one.id : 0);
    await new Promise((resolve) => setTimeout(resolve, 300));
  }

  await listening;
  const first = added.indexOf(seen[0] ?? -1);
  assert.deepEqual(seen, added.slice(first, first + 2));
});
