/** Requests with time limits, and retries where a request cannot be done twice. */

import { ConnectionError, errorOf, MemsyncError, retryAfterOf, TimeoutError } from "./errors.ts";

export interface RequestOptions {
  /** Aborts the request, and the pauses between attempts. */
  signal?: AbortSignal;
  /** Milliseconds for each attempt. */
  timeout?: number;
}

export interface TransportOptions {
  url: string;
  apiKey: string;
  timeout: number;
  retries: number;
  fetch: typeof fetch;
}

export interface Call extends RequestOptions {
  endUser?: string | undefined;
  query?: Record<string, string | number | boolean | undefined> | undefined;
  body?: unknown;
  headers?: Record<string, string>;
  /** Whether doing it twice has the effect of doing it once. Reads are. */
  isRepeatable?: boolean;
}

const LONGEST_WAIT = 60; // seconds
const FIRST_WAIT = 0.25;
const NO_LIMIT = 2 ** 31 - 1;

export class Transport {
  readonly options: TransportOptions;

  constructor(options: TransportOptions) {
    this.options = options;
  }

  /** The JSON of the answer. Throws a MemsyncError, or the reason of the caller's signal. */
  async call<Answer>(method: string, path: string, call: Call = {}): Promise<Answer> {
    for (let attempt = 0; ; attempt++) {
      let failure: MemsyncError;
      let pause = FIRST_WAIT * 2 ** attempt * (0.5 + Math.random());
      try {
        const response = await this.send(method, path, call);
        const body = await this.read(response, call);
        if (response.ok) return body as Answer;
        failure = errorOf(response, body);
        const wait = retryAfterOf(response);
        if (!isWorthRetrying(response.status, wait, call.isRepeatable ?? method === "GET")) throw failure;
        if (wait !== undefined) pause = wait;
      } catch (error) {
        const isUnanswered = error instanceof ConnectionError || error instanceof TimeoutError;
        if (!isUnanswered || !(call.isRepeatable ?? method === "GET")) throw error;
        failure = error;
      }
      if (attempt >= this.options.retries || pause > LONGEST_WAIT) throw failure;
      await sleep(pause, call.signal);
    }
  }

  /** One attempt. The time limit is for the beginning of the answer. */
  async send(method: string, path: string, call: Call): Promise<Response> {
    const headers: Record<string, string> = { "X-API-Key": this.options.apiKey, Accept: "application/json", ...call.headers };
    if (call.endUser !== undefined) headers["X-End-User-ID"] = asHeader(call.endUser);
    if (call.body !== undefined) headers["Content-Type"] = "application/json";
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    return this.guarded(call, (signal) =>
      this.options.fetch(this.address(path, call.query), { method, headers, body, signal, redirect: "manual" }),
    );
  }

  /** An answer that is read as it comes: the time limit ends with its headers, and the signal goes on. */
  async stream(path: string, call: Call): Promise<Response> {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), call.timeout ?? this.options.timeout);
    const signal = call.signal ? AbortSignal.any([call.signal, limit.signal]) : limit.signal;
    try {
      return await this.send("GET", path, { ...call, signal, timeout: NO_LIMIT });
    } finally {
      clearTimeout(timer);
    }
  }

  private async read(response: Response, call: Call): Promise<unknown> {
    const text = await this.guarded(call, () => response.text());
    try {
      return text ? JSON.parse(text) : undefined;
    } catch {
      if (response.ok) throw new ConnectionError("The answer is no JSON.", { status: response.status });
      return undefined;
    }
  }

  /** Runs a step of a request within its time limit, and gives its failures names. */
  private async guarded<Result>(call: Call, step: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const limit = AbortSignal.timeout(call.timeout ?? this.options.timeout);
    const signal = call.signal ? AbortSignal.any([call.signal, limit]) : limit;
    try {
      return await step(signal);
    } catch (cause) {
      call.signal?.throwIfAborted();
      if (limit.aborted) throw new TimeoutError("The server has not answered in time.", { cause });
      throw new ConnectionError(`${this.options.url} cannot be reached.`, { cause });
    }
  }

  private address(path: string, query: Call["query"]): string {
    const address = new URL(this.options.url + path);
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value !== undefined) address.searchParams.set(name, String(value));
    }
    return address.href;
  }
}

/** A refusal with Retry-After happened before anything was done; after other failures only reads are sent again. */
function isWorthRetrying(status: number, retryAfter: number | undefined, isRepeatable: boolean): boolean {
  if (status === 429 || status === 503) return retryAfter !== undefined || isRepeatable;
  return isRepeatable && (status === 502 || status === 504);
}

/** A header holds bytes: those of UTF-8. */
function asHeader(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
}

export function sleep(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, seconds * 1000);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
