export { Memsync, State, Turns } from "./client.ts";
export type {
  AddAnswer, AddOptions, Labels, Memory, MemoryDetails, MemsyncOptions, RecallOptions, Schema, Turn,
} from "./client.ts";
export type { EventOptions, MemoryEvent } from "./events.ts";
export type { RequestOptions } from "./http.ts";
export * from "./errors.ts";
export type { components, operations, paths } from "./openapi.ts";
