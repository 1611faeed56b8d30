/** The client: a method for what an agent needs. Bodies and answers have the API's own names. */

import { streamEvents, type EventOptions, type MemoryEvent } from "./events.ts";
import { Transport, type RequestOptions } from "./http.ts";
import { entries } from "./pages.ts";
import type { components } from "./openapi.ts";

/** A schema of docs/openapi.yaml. */
export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];

export type Memory = Schema<"StoredOutput">;
export type MemoryDetails = Schema<"MemoryDetailsOutput">;
export type AddAnswer = Schema<"StoredOutput"> | Schema<"SkipOutput">;
export type AddOptions = Omit<Schema<"AddInput">, "text" | "content" | "user_id" | "project_id" | "end_user_id">;
export type RecallOptions = Omit<Schema<"QueryInput">, "query" | "user_id" | "project_id" | "end_user_id">;
export type Labels = Schema<"PatchedEditInput">;
export type Turn = Schema<"AppendHistoryInput">["turns"][number];

export interface MemsyncOptions {
  /** Address of the server; by default `MEMSYNC_URL`, or the one that `memsync up` uses. */
  url?: string;
  /** By default `MEMSYNC_API_KEY`. */
  apiKey?: string;
  /** Whose memory it is; any ID of yours. By default `MEMSYNC_END_USER`. */
  endUser?: string;
  /** A namespace within the key's tenant, with end users of its own, for turns, lists and state; by default the tenant itself. */
  tenant?: string;
  /** Milliseconds for each attempt; 30,000 by default. */
  timeout?: number;
  /** How often a request is sent again; 2 by default. */
  retries?: number;
  fetch?: typeof fetch;
}

const PAGE = 100;

export class Memsync {
  readonly endUser: string | undefined;
  readonly tenant: string | undefined;
  readonly turns: Turns;
  readonly state: State;
  readonly #transport: Transport;
  #ownTenant: string | undefined;

  constructor(options: MemsyncOptions = {}) {
    const url = options.url ?? environment("MEMSYNC_URL") ?? "http://127.0.0.1:8000";
    const apiKey = options.apiKey ?? environment("MEMSYNC_API_KEY");
    if (!apiKey) throw new TypeError("Memsync needs an apiKey, or MEMSYNC_API_KEY.");
    this.endUser = options.endUser ?? environment("MEMSYNC_END_USER");
    this.tenant = options.tenant;
    this.#transport = new Transport({
      url: url.replace(/\/+$/, ""),
      apiKey,
      timeout: options.timeout ?? 30_000,
      retries: options.retries ?? 2,
      fetch: options.fetch ?? globalThis.fetch.bind(globalThis),
    });
    this.turns = new Turns(this.#transport, () => this.#owner());
    this.state = new State(this.#transport, () => this.#owner());
  }

  /** The same client for another end user. */
  for(endUser: string): Memsync {
    return new Memsync({ ...this.#transport.options, ...(this.tenant !== undefined && { tenant: this.tenant }), endUser });
  }

  /** Store a text. What is not worth keeping is not stored: the answer's `status` is then `skipped`, with the `reason`. */
  async add(text: string, options: AddOptions & RequestOptions = {}): Promise<AddAnswer> {
    const [request, body] = split(options);
    const isRepeatable = body.client_ref !== undefined; // the same reference is stored once
    return this.#post("/memory/add", { ...body, text }, { ...request, isRepeatable });
  }

  /** Store up to fifty texts, each with a result of its own. */
  addMany(items: Schema<"BulkInput">["items"], options: RequestOptions = {}): Promise<Schema<"BulkOutput">> {
    return this.#post("/memory/bulk-add", { items }, options);
  }

  /** The memories that best answer a question, best first. */
  recall(question: string, options: RecallOptions & RequestOptions = {}): Promise<Schema<"QueryOutput">> {
    const [request, body] = split(options);
    return this.#post("/memory/query", { ...body, query: question }, { ...request, isRepeatable: true });
  }

  /** An answer of quotes from memories. */
  ask(question: string, options: { max_memories?: number } & RequestOptions = {}): Promise<Schema<"SynthesizeOutput">> {
    const [request, body] = split(options);
    return this.#post("/memory/synthesize", { ...body, query: question }, { ...request, isRepeatable: true });
  }

  /** A prompt with what is known put in the place of `{{memories}}`. */
  compose(
    template: string, options: Omit<Schema<"ComposeInput">, "prompt_template"> & RequestOptions = {},
  ): Promise<Schema<"ComposeOutput">> {
    const [request, body] = split(options);
    return this.#post("/memory/compose", { ...body, prompt_template: template }, { ...request, isRepeatable: true });
  }

  get(id: number, options: RequestOptions = {}): Promise<MemoryDetails> {
    return this.#transport.call("GET", `/memory/${id}`, { ...options, endUser: this.#named() });
  }

  /** Every memory, newest first, with IDs such as `m_12`. */
  list(options: { pageSize?: number } & RequestOptions = {}): AsyncGenerator<Schema<"ListOutput">["memories"][number]> {
    const { pageSize = PAGE, ...request } = options;
    const endUser = encodeURIComponent(this.#named());
    return entries(pageSize, async (offset, limit) => {
      const tenant = this.tenant ?? (this.#ownTenant ??= await this.#tenantOfKey(request));
      const path = `/v1/memory/${encodeURIComponent(tenant)}/${endUser}/list`;
      const page = await this.#transport.call<Schema<"ListOutput">>("GET", path, { ...request, query: { offset, limit } });
      return page.memories;
    });
  }

  /** Change labels: tags, importance, metadata and others. The text never changes. */
  update(id: number, labels: Labels, options: RequestOptions = {}): Promise<MemoryDetails> {
    return this.#transport.call("PATCH", `/memory/${id}`, {
      ...options, body: labels, endUser: this.#named(), isRepeatable: true,
    });
  }

  /** Ask for a deletion. A person confirms it in the browser: a key deletes nothing for good. */
  requestForget(what: Schema<"ChoiceInput">, options: RequestOptions = {}): Promise<Schema<"ForgetRequestOutput">> {
    return this.#post("/memory/forget-requests", what, { ...options, isRepeatable: true });
  }

  /** Requests for deletions, newest first. */
  forgetRequests(
    options: { pageSize?: number; status?: string } & RequestOptions = {},
  ): AsyncGenerator<Schema<"ForgetRequestOutput">> {
    const { pageSize = 50, status, ...request } = options;
    return entries(pageSize, async (offset, limit) => {
      const query = { offset, limit, status };
      const call = { ...request, query, endUser: this.#named() };
      const page = await this.#transport.call<Schema<"ForgetRequestsOutput">>("GET", "/memory/forget-requests", call);
      return page.requests;
    });
  }

  /** Sessions, the most recently active first. */
  sessions(
    options: { pageSize?: number } & RequestOptions = {},
  ): AsyncGenerator<Schema<"ConversationSessionsOutput">["sessions"][number]> {
    const { pageSize = PAGE, ...request } = options;
    return entries(pageSize, async (offset, limit) => {
      const call = { ...request, query: { offset, limit }, endUser: this.#named() };
      const page = await this.#transport.call<Schema<"ConversationSessionsOutput">>("GET", "/v1/sessions", call);
      return page.sessions;
    });
  }

  /** Changes as they happen, of the end user if there is one; it goes on after a broken connection. */
  events(options: EventOptions = {}): AsyncGenerator<MemoryEvent, void, undefined> {
    return streamEvents(this.#transport, this.endUser, options);
  }

  #post<Answer>(path: string, body: unknown, call: RequestOptions & { isRepeatable?: boolean }): Promise<Answer> {
    return this.#transport.call("POST", path, { ...call, body, endUser: this.#named() });
  }

  #named(): string {
    if (!this.endUser) throw new TypeError("Name an end user: new Memsync({ endUser }), or memory.for(endUser).");
    return this.endUser;
  }

  async #tenantOfKey(options: RequestOptions): Promise<string> {
    return (await this.#transport.call<Schema<"PingOutput">>("GET", "/v1/ping/", options)).org_id;
  }

  #owner(): Named {
    return { ...(this.tenant !== undefined && { tenant_id: this.tenant }), user_id: this.#named() };
  }
}

type Named = { tenant_id?: string; user_id: string };
type Owner = () => Named;
type OfOwner<Input> = Omit<Input, "tenant_id" | "user_id">;

/** Conversations: turns that memories are extracted from, and turns that are stored. */
export class Turns {
  readonly #transport: Transport;
  readonly #owner: Owner;

  constructor(transport: Transport, owner: Owner) {
    this.#transport = transport;
    this.#owner = owner;
  }

  /** Extract memories from a turn, which is not stored itself. */
  add(turn: OfOwner<Schema<"AddTurnInput">>, options: RequestOptions = {}): Promise<Schema<"TurnOutput">> {
    return this.#post("/v1/memory/add_turn", turn, options);
  }

  /** Store turns of a session, and extract memories from the user's. A turn with `idempotency_key` or `seq` is stored once. */
  append(
    session: string, turns: Turn[],
    options: Partial<OfOwner<Omit<Schema<"AppendHistoryInput">, "turns" | "session_id">>> & RequestOptions = {},
  ): Promise<Schema<"AppendHistoryOutput">> {
    const [request, body] = split(options);
    return this.#post("/v1/history/append", { ...body, session_id: session, turns }, request);
  }

  /** Stored turns: of the session in order, or the latest of all. */
  list(
    options: OfOwner<Schema<"ListHistoryInput">> & RequestOptions = {},
  ): Promise<Schema<"ListHistoryOutput">> {
    const [request, body] = split(options);
    return this.#post("/v1/history/list", body, { ...request, isRepeatable: true });
  }

  #post<Answer>(path: string, body: object, call: RequestOptions & { isRepeatable?: boolean }): Promise<Answer> {
    return this.#transport.call("POST", path, { ...call, body: { ...body, ...this.#owner() } });
  }
}

/** Objects that a framework stores: profiles, checkpoints, settings. They are no memories. */
export class State {
  readonly #transport: Transport;
  readonly #owner: Owner;

  constructor(transport: Transport, owner: Owner) {
    this.#transport = transport;
    this.#owner = owner;
  }

  put(item: OfOwner<Schema<"PutStateInput">>, options: RequestOptions = {}): Promise<Schema<"PutStateOutput">> {
    return this.#post("/v1/state/put", item, options);
  }

  async get(namespace: string[], key: string, options: RequestOptions = {}): Promise<Schema<"GetStateOutput">["item"]> {
    return (await this.#post<Schema<"GetStateOutput">>("/v1/state/get", { namespace, key }, options)).item;
  }

  list(options: OfOwner<Schema<"ListStateInput">> & RequestOptions = {}): Promise<Schema<"ListStateOutput">> {
    const [request, body] = split(options);
    return this.#post("/v1/state/list", body, request);
  }

  search(
    query: string, options: Omit<OfOwner<Schema<"SearchStateInput">>, "query"> & RequestOptions = {},
  ): Promise<Schema<"SearchStateOutput">> {
    const [request, body] = split(options);
    return this.#post("/v1/state/search", { ...body, query }, request);
  }

  delete(namespace: string[], keys: string[], options: RequestOptions = {}): Promise<Schema<"DeletedOutput">> {
    return this.#post("/v1/state/delete", { namespace, keys }, options);
  }

  #post<Answer>(path: string, body: object, options: RequestOptions): Promise<Answer> {
    const call = { ...options, body: { ...body, ...this.#owner() }, isRepeatable: true }; // putting twice is putting once
    return this.#transport.call("POST", path, call);
  }
}

/** Options of the request, and fields of its body. */
function split<Fields extends RequestOptions>(options: Fields): [RequestOptions, Omit<Fields, keyof RequestOptions>] {
  const { signal, timeout, ...body } = options;
  return [{ ...(signal && { signal }), ...(timeout !== undefined && { timeout }) }, body];
}

function environment(name: string): string | undefined {
  const process = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process; // not in browsers
  return process?.env?.[name] || undefined;
}
