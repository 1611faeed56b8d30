/** Live events over a connection that is opened again when it ends. */

import { errorOf, ConnectionError, GoneError, MemsyncError, ServerError, RateLimitError, TimeoutError } from "./errors.ts";
import { sleep, type Call, type Transport } from "./http.ts";

export interface MemoryEvent {
  /** Begin with it (`after`) to get what followed. */
  position: number;
  type: string;
  /** The event, with the fields of a webhook. */
  event: { id: string; type: string; created_at: string; data: Record<string, unknown> };
}

export interface EventOptions {
  /** Only these types. */
  types?: string[];
  /** The position of the last event that you have. */
  after?: number;
  signal?: AbortSignal;
}

const SILENCE = 45_000; // milliseconds; the server sends a comment every 15 seconds
const PAUSE = 3; // seconds before the next connection

/** Events as they happen, none twice. Ends by `break` or the signal. Throws GoneError if events were missed. */
export async function* streamEvents(
  transport: Transport, endUser: string | undefined, options: EventOptions,
): AsyncGenerator<MemoryEvent, void, undefined> {
  let position = options.after === undefined ? "" : String(options.after);
  for (;;) {
    const closing = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, closing.signal]) : closing.signal;
    try {
      const response = await open(transport, endUser, options, position, signal);
      for await (const frame of frames(response, closing)) {
        options.signal?.throwIfAborted(); // also between events that came together
        if (frame.id) position = frame.id;
        if (frame.event === "reset") throw new GoneError("Events were missed.", { status: 410, code: "EVENTS_GONE" });
        if (frame.data) yield { position: Number(position), type: frame.event, event: JSON.parse(frame.data) };
      }
    } catch (error) {
      options.signal?.throwIfAborted();
      const isPassing = error instanceof ConnectionError || error instanceof TimeoutError || error instanceof ServerError;
      if (error instanceof MemsyncError && !isPassing && !(error instanceof RateLimitError)) throw error;
    } finally {
      closing.abort();
    }
    await sleep(PAUSE, options.signal);
  }
}

async function open(
  transport: Transport, endUser: string | undefined, options: EventOptions, position: string, signal: AbortSignal,
): Promise<Response> {
  const headers: Record<string, string> = { Accept: "text/event-stream" };
  if (position) headers["Last-Event-ID"] = position;
  const call: Call = { endUser, headers, query: { types: options.types?.join(",") }, signal, timeout: SILENCE };
  const response = await transport.stream("/v1/events/stream", call);
  if (response.ok) return response;
  let body: unknown;
  try {
    body = await response.json();
  } catch {
    // not from this server
  }
  throw errorOf(response, body);
}

interface Frame {
  id: string;
  event: string;
  data: string;
}

async function* frames(response: Response, closing: AbortController): AsyncGenerator<Frame> {
  let rest = "";
  let watchdog = setTimeout(() => closing.abort(), SILENCE);
  const decoder = new TextDecoder();
  try {
    for await (const piece of response.body ?? []) {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => closing.abort(), SILENCE);
      rest += decoder.decode(piece, { stream: true });
      const blocks = rest.split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) yield frameOf(block);
    }
  } finally {
    clearTimeout(watchdog);
  }
}

function frameOf(block: string): Frame {
  const frame: Frame = { id: "", event: "", data: "" };
  for (const line of block.split("\n")) {
    const [name, value] = [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trimStart()];
    if (name === "id" || name === "event" || name === "data") frame[name] += value;
  }
  return frame;
}
