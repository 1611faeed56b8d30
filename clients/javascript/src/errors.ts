/** What can go wrong. Every error of this package is a `MemsyncError`. */

export interface ErrorDetail {
  loc: (string | number)[];
  msg: string;
  type: string;
}

export class MemsyncError extends Error {
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number;
  /** The server's code, such as `MEMORY_NOT_FOUND`; see docs/errors.md. */
  readonly code: string;
  readonly details: ErrorDetail[];
  /** To name when you report a fault. */
  readonly requestId: string | undefined;
  /** Seconds until the request may be sent again. */
  readonly retryAfter: number | undefined;

  constructor(message: string, facts: Partial<ErrorFacts> = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = new.target.name;
    this.status = facts.status ?? 0;
    this.code = facts.code ?? "";
    this.details = facts.details ?? [];
    this.requestId = facts.requestId;
    this.retryAfter = facts.retryAfter;
  }
}

export interface ErrorFacts {
  status: number;
  code: string;
  details: ErrorDetail[];
  requestId: string | undefined;
  retryAfter: number | undefined;
  cause: unknown;
}

/** 401: no key, or an unknown, expired or revoked one. */
export class AuthenticationError extends MemsyncError {}
/** 403: the key may not do this. */
export class PermissionDeniedError extends MemsyncError {}
/** 404: absent, or another owner's. */
export class NotFoundError extends MemsyncError {}
/** 409. */
export class ConflictError extends MemsyncError {}
/** 410: events after this position are no longer kept: read the current state, and begin without a position. */
export class GoneError extends MemsyncError {}
/** 400, 413, 415, 422: `details` name the fields. */
export class InvalidRequestError extends MemsyncError {}
/** 429: a rate limit or a quota. */
export class RateLimitError extends MemsyncError {}
/** 5xx. */
export class ServerError extends MemsyncError {}
/** The server cannot be reached, or the answer was cut off. */
export class ConnectionError extends MemsyncError {}
/** The time limit of the request has passed. */
export class TimeoutError extends MemsyncError {}

const BY_STATUS: Record<number, typeof MemsyncError> = {
  400: InvalidRequestError,
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  410: GoneError,
  413: InvalidRequestError,
  415: InvalidRequestError,
  422: InvalidRequestError,
  429: RateLimitError,
};

/** The error that a refused request deserves. */
export function errorOf(response: Response, body: unknown): MemsyncError {
  const envelope = (body ?? {}) as {
    error?: { code?: string; message?: string; details?: ErrorDetail[] };
    request_id?: string;
  };
  const kind = BY_STATUS[response.status] ?? (response.status >= 500 ? ServerError : MemsyncError);
  return new kind(envelope.error?.message ?? `The server answered ${response.status}.`, {
    status: response.status,
    code: envelope.error?.code,
    details: envelope.error?.details,
    requestId: envelope.request_id ?? response.headers.get("X-Request-ID") ?? undefined,
    retryAfter: retryAfterOf(response),
  });
}

export function retryAfterOf(response: Response): number | undefined {
  const seconds = Number(response.headers.get("Retry-After") || NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
}
