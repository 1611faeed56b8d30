/** Time limits, retries and broken connections, against a server that fails as it is told. */

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, test } from "node:test";

import { ConnectionError, GoneError, Memsync, MemsyncError, RateLimitError, ServerError, TimeoutError } from "../src/index.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let url: string;
let answers: Answer[] = [];
let asked: IncomingMessage[] = [];

before(async () => {
  server = createServer((request, response) => {
    asked.push(request);
    (answers.shift() ?? json(200, { memories: [] }))(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  answers = [];
  asked = [];
});
after(() => {
  server.closeAllConnections();
  server.close();
});

const json = (status: number, body: unknown, headers: Record<string, string> = {}): Answer => (_, response) =>
  response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
const broken: Answer = (request) => request.socket.destroy();
const silent: Answer = () => {};
const limited = (seconds: string) => json(429, { error: { code: "RATE_LIMITED", message: "Later." } }, { "Retry-After": seconds });
const memory = (options = {}) => new Memsync({ url: `${url}/`, apiKey: "k", endUser: "алиса", timeout: 20_000, ...options });

test("the key, the end user and the body are sent", async () => {
  let body = "";
  answers = [(request, response) => request.on("data", (piece) => (body += piece)).on("end", () => json(200, {})(request, response))];

  await memory().recall("Where do I live?", { k: 3, timeout: 5_000 });

  assert.equal(asked[0]?.url, "/memory/query");
  assert.equal(asked[0]?.headers["x-api-key"], "k");
  assert.equal(Buffer.from(String(asked[0]?.headers["x-end-user-id"]), "latin1").toString("utf8"), "алиса");
  assert.deepEqual(JSON.parse(body), { query: "Where do I live?", k: 3 });
});

test("without a tenant, turns leave it to the server and lists ask once whose key it is", async () => {
  let body = "";
  answers = [
    (request, response) => request.on("data", (piece) => (body += piece)).on("end", () => json(200, {})(request, response)),
    json(200, { org_id: "a/b" }),
  ];
  const own = memory();

  await own.turns.list({});
  for await (const _ of own.list()) assert.fail();
  for await (const _ of own.list()) assert.fail();

  assert.deepEqual(JSON.parse(body), { user_id: "алиса" });
  const lists = `/v1/memory/a%2Fb/${encodeURIComponent("алиса")}/list?offset=0&limit=100`;
  assert.deepEqual(asked.map((request) => request.url), ["/v1/history/list", "/v1/ping/", lists, lists]);
});

test("a request that meets a limit is sent again when the server allows it", async () => {
  answers = [limited("1"), json(201, { id: 1 })];
  const begun = Date.now();

  await memory().add("I live in Ghent.");

  assert.equal(asked.length, 2);
  assert.ok(Date.now() - begun >= 990);
});

test("a limit that lasts too long, or goes on, is told with its time", async () => {
  answers = [limited("3600"), limited("0"), limited("0")];

  await assert.rejects(memory().recall("x"), (error) => error instanceof RateLimitError && error.retryAfter === 3600);
  await assert.rejects(memory({ retries: 1 }).recall("x"), RateLimitError);
  assert.equal(asked.length, 3);
});

test("reads are repeated after failures, and adds only if they are stored once", async () => {
  answers = [broken, json(502, null), json(200, { memories: [] })];
  assert.deepEqual((await memory().recall("x")).memories, []);
  assert.equal(asked.length, 3);

  answers = [broken];
  await assert.rejects(memory().add("I live in Ghent."), ConnectionError);
  answers = [json(502, null)];
  await assert.rejects(memory().add("I live in Ghent."), ServerError);
  assert.equal(asked.length, 5);

  answers = [broken, json(201, { id: 1 })];
  await memory().add("I live in Ghent.", { client_ref: "turn-17" });
  assert.equal(asked.length, 7);
});

test("a server that does not answer meets the time limit", async () => {
  answers = [silent, silent];

  await assert.rejects(memory({ retries: 1 }).recall("x", { timeout: 2_000 }), TimeoutError);
  assert.equal(asked.length, 2);
});

test("a signal ends a request and a pause with its reason", async () => {
  const reason = new Error("The user left.");
  const inRequest = new AbortController();
  const inPause = new AbortController();
  answers = [
    () => inRequest.abort(reason),
    (request, response) => {
      limited("30")(request, response);
      setTimeout(() => inPause.abort(reason), 500);
    },
  ];

  await assert.rejects(memory().recall("x", { signal: inRequest.signal }), reason);
  await assert.rejects(memory().recall("x", { signal: inPause.signal }), reason);
  await assert.rejects(memory().recall("x", { signal: AbortSignal.abort(reason) }), reason);
  assert.equal(asked.length, 2);
});

test("an answer that is no JSON, and a redirect, are errors", async () => {
  answers = [(_, response) => response.writeHead(200).end("<html>"), (_, response) => response.writeHead(302, { Location: "/x" }).end()];

  await assert.rejects(memory({ retries: 0 }).recall("x"), ConnectionError);
  await assert.rejects(memory({ retries: 0 }).recall("x"), MemsyncError);
});

test("a stream ends with its signal, also between events that came together", async () => {
  const event = (id: number) => `id: ${id}\nevent: memory.created\ndata: {"id": "evt_${id}"}\n\n`;
  answers = [(_, response) => response.writeHead(200, { "Content-Type": "text/event-stream" }).write(event(1) + event(2))];
  const closing = new AbortController();
  const seen: number[] = [];

  await assert.rejects(async () => {
    for await (const { position } of memory().events({ signal: closing.signal })) {
      seen.push(position);
      closing.abort();
    }
  }, { name: "AbortError" });

  assert.deepEqual(seen, [1]);
});

test("a stream goes on after a cut with the last position, and says when events were missed", async () => {
  const event = (id: number) => `id: ${id}\nevent: memory.created\ndata: ${JSON.stringify({ id: `evt_${id}`, data: { memory_id: id } })}\n\n`;
  const stream = (text: string): Answer => (_, response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write(`retry: 3000\nid: 1\n\n${text.slice(0, 20)}`);
    setTimeout(() => response.write(text.slice(20)), 20);
    setTimeout(() => response.destroy(), 60);
  };
  answers = [stream(event(2)), json(410, { error: { code: "EVENTS_GONE", message: "Gone." } })];
  const seen: number[] = [];

  await assert.rejects(async () => {
    for await (const { position } of memory().events()) seen.push(position);
  }, (error) => error instanceof GoneError && error.code === "EVENTS_GONE");

  assert.deepEqual(seen, [2]);
  assert.equal(asked[1]?.headers["last-event-id"], "2");
});
