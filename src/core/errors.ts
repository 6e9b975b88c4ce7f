/**
 * One line of the catalogue. `message` is a template over `{names}` and says what happened, where, and
 * what to do. `retryable`: the same call may succeed later. `status`: the HTTP status on every listener.
 * `exit`: the exit code of the command line.
 */
type CatalogueEntry = { message: string; retryable: boolean; status: number; exit: number }

const entry = (message: string, status: number, options: { retryable?: boolean; exit?: number } = {}) => ({
  message,
  status,
  retryable: options.retryable ?? false,
  exit: options.exit ?? 1,
})

/** Every error that users can meet. `docs/errors.md` lists the same codes; a test holds them together. */
export const catalogue = {
  store_unavailable: entry(
    'The store ({store}) cannot be reached: {reason}. Nothing was accepted; try again.',
    503,
    {
      retryable: true,
    },
  ),
  store_locked: entry(
    'The data directory {path} is in use by {holder}. Stop it, or set TRIVIUM_DATA_DIR.',
    503,
    {
      exit: 2,
    },
  ),
  store_version: entry(
    '{path} has schema version {found}; this Trivium knows up to {known}. Install a newer Trivium.',
    500,
    {
      exit: 2,
    },
  ),
  store_unreadable: entry(
    'The store ({store}) holds something that Trivium did not write: {reason}. Choose another prefix, or clean it.',
    500,
    { exit: 2 },
  ),
  overloaded: entry('{what} is at its limit of {limit}. Try again in {seconds} s.', 503, { retryable: true }),
  rate_limited: entry('Gateway {gateway} takes at most {rate}. Try again later.', 429, { retryable: true }),
  body_too_large: entry('The body is over the limit of {limit} bytes of gateway {gateway} (max-body).', 413),
  signature_invalid: entry('The request to gateway {gateway} is not authentic: {reason}.', 401),
  method_not_allowed: entry('{method} is not allowed at {path}; use {allowed}.', 405),
  upgrade_required: entry('{path} speaks WebSocket; connect with a WebSocket client.', 426),
  not_found: entry('There is no {path}.', 404),
  bad_request: entry('The request cannot be read: {reason}.', 400),
  unauthorized: entry(
    'A valid bearer token is needed; it is in <data dir>/control-token or TRIVIUM_TOKEN.',
    401,
  ),
  forbidden: entry('{what} is not allowed: {reason}.', 403),
  config_invalid: entry('{details}', 422, { exit: 2 }),
  skill_not_found: entry('There is no skill {name}.{hint}', 404, { exit: 2 }),
  skill_args_invalid: entry('Skill {name} cannot take these arguments: {details}', 422, { exit: 2 }),
  skill_broken: entry('Skill {name} cannot be loaded from {path}: {reason}', 500),
  skill_failed: entry('Skill {name} failed: {reason}', 500, { retryable: true }),
  skill_timeout: entry('Skill {name} took longer than {timeout}.', 504, { retryable: true }),
  cancelled: entry('{what} was cancelled: {reason}.', 499, { retryable: true }),
  recursion_limit: entry('Skill {name} was invoked {depth} levels deep; the limit is {limit}.', 500),
  message_not_found: entry('There is no message {id}, or it is no longer retained.', 404),
  dead_letter_not_found: entry('There is no dead letter {id}.', 404),
  gateway_not_found: entry('There is no running gateway {name}.{hint}', 404),
  topic_reserved: entry('The topic {topic} is fed by accepted messages only; choose another name.', 422),
  group_not_found: entry('There is no consumer group {group} on topic {topic}; subscribe first.', 404),
  target_not_allowed: entry(
    'Gateway {gateway} sends only replies; set `open: true` on it to send to other targets.',
    403,
  ),
  no_reply_target: entry('There is no conversation to reply to; give `gateway` and `to`.', 422),
  send_failed: entry('Gateway {gateway} could not send: {reason}', 502, { retryable: true }),
  send_ambiguous: entry(
    'Gateway {gateway} cannot tell whether {key} was sent: {reason}. It is looked for before anything is sent again.',
    502,
    { retryable: true },
  ),
  login_failed: entry('The login failed: {reason}', 502),
  send_rejected: entry('Gateway {gateway} refused to send for good: {reason}', 502),
  callback_not_found: entry('There is no callback {ref}, or it has ended.', 404),
  callback_released: entry('Callback {ref} was released before it answered.', 410),
  callback_timeout: entry('Callback {ref} did not answer within {timeout}.', 504, { retryable: true }),
  callback_failed: entry('Callback {ref} answered with an error: {reason}', 502),
  approval_not_found: entry('There is no approval {id}, or it is no longer kept.', 404),
  approval_decided: entry('Approval {id} was already decided: {status}.', 409),
  approval_pending: entry('Skill {name} waits for approval {id}.', 202, { retryable: true }),
  approval_denied: entry('Skill {name} was not approved: {reason}.', 403),
  model_missing: entry(
    'Skill {name} needs a model: set `model` in its front matter, on the route or in the configuration, e.g. `anthropic:<model>`.',
    422,
    { exit: 2 },
  ),
  model_unusable: entry('Model {model} cannot be used: {reason}', 422, { exit: 2 }),
  model_failed: entry('Model {model} failed: {reason}', 502, { retryable: true }),
  model_limit: entry('Skill {name} reached its limit of {limit}.', 500),
  state_conflict: entry('{what} kept changing while it was written. Try again.', 409, { retryable: true }),
  not_running: entry('No daemon is running for {path}. Start one with `trivium start`.', 503, { exit: 3 }),
  state_invalid: entry('Document {name} was not changed: {details}', 422),
  document_conflict: entry(
    'Document {name} is at revision {found}, not {expected}: another writer came first. Read it and try again.',
    409,
    { retryable: true },
  ),
  state_locked: entry('{path} was held by another process for {seconds} s. Try again.', 503, {
    retryable: true,
  }),
  state_unwritable: entry('{path} cannot be written: {reason}. Nothing was changed.', 507, {
    retryable: true,
  }),
  state_corrupt: entry(
    '{path} cannot be read: {reason}. It was left as it is; mend it, or run `trivium state repair {name}`.',
    500,
    { exit: 2 },
  ),
  state_version: entry('{path} has schema_version {found}; this Trivium knows version {known}. {what}', 500, {
    exit: 2,
  }),
  state_human_touch: entry(
    '{name} was edited by a person {seconds} s ago; agents wait {grace} s. Read it again, then try again.',
    409,
    { retryable: true },
  ),
  document_not_found: entry('There is no document {name}.{hint}', 404, { exit: 2 }),
  limit_reached: entry('{what}: the limit is {limit}. {todo}', 422),
  call_unknown: entry(
    'The call {key} was started at {time} and its outcome is unknown. Look whether it happened, then settle it.',
    409,
  ),
  artifact_not_found: entry('There is no artifact {sha256}.', 404),
  usage: entry('{details}', 400, { exit: 2 }),
  internal: entry('Something inside Trivium failed: {reason}', 500),
} satisfies Record<string, CatalogueEntry>

export type ErrorCode = keyof typeof catalogue

/**
 * The one error class. Throw it with a code of the catalogue and the values of its template; keep what
 * caused it in `cause`.
 */
export class TriviumError extends Error {
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly status: number
  readonly exit: number

  constructor(code: ErrorCode, values: Record<string, string | number> = {}, options?: ErrorOptions) {
    const found = catalogue[code]
    super(
      found.message.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? '')),
      options,
    )
    this.name = 'TriviumError'
    this.code = code
    this.retryable = found.retryable
    this.status = found.status
    this.exit = found.exit
  }
}

/** The message of anything that was thrown. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** What a lock on the file, or writing it, throws: `state_locked` or `state_unwritable`. */
export function fileFailure(path: string) {
  return (kind: 'locked' | 'unwritable', cause?: unknown): TriviumError =>
    new TriviumError(`state_${kind}`, { path, seconds: 10, reason: reasonOf(cause) }, { cause })
}

/** Any thrown value as a TriviumError, so that borders can answer with a code and a status. */
export function toTriviumError(error: unknown): TriviumError {
  return error instanceof TriviumError
    ? error
    : new TriviumError('internal', { reason: reasonOf(error) }, { cause: error })
}

/** Refuses what comes in while the daemon stops; whoever sent it tries again. */
export function stoppingError(): TriviumError {
  return new TriviumError('store_unavailable', { store: 'gateway', reason: 'the daemon is stopping' })
}

/** What every listener answers to a request that it refuses. */
export function errorBody({ code, message }: TriviumError) {
  return { error: { code, message } }
}
