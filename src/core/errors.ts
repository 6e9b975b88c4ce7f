import { defined } from '../lib/defined.ts'
import { LOCK_PATIENCE } from '../lib/file-lock.ts'
import { headOf } from '../lib/head-of.ts'

/** `message`: a template with `{names}`. `retryable`: the same call may succeed later. `exit`: exit code of the command line. */
const final = (status: number, message: string) => ({ message, status, retryable: false, exit: 1 })
const passing = (status: number, message: string) => ({ message, status, retryable: true, exit: 1 })
const misuse = (status: number, message: string) => ({ message, status, retryable: false, exit: 2 })

/** Every error that users can see. A test keeps `docs/errors.md` in step. */
export const catalogue = {
  store_unavailable: passing(
    503,
    'The store ({store}) cannot be reached: {reason}. Nothing was accepted; try again.',
  ),
  store_locked: misuse(
    503,
    'The data directory {path} is in use by {holder}. Stop it, or set TRIVIUM_DATA_DIR.',
  ),
  store_version: misuse(
    500,
    '{path} has schema version {found}; this Trivium knows up to {known}. Install a newer Trivium.',
  ),
  store_shards: misuse(500, 'The number of shards of {store} is {found}: {reason}.'),
  store_unreadable: misuse(
    500,
    'The store ({store}) contains data that Trivium did not write: {reason}. `trivium doctor` names the key; use another prefix, or remove it.',
  ),
  backup_refused: misuse(409, '{what} is refused: {reason}.'),
  backup_unreadable: misuse(422, '{path} is not a complete backup: {reason}. Nothing was changed.'),
  overloaded: passing(503, '{what} reached its limit of {limit}. Try again in {seconds} s.'),
  rate_limited: passing(429, 'Gateway {gateway} takes at most {rate}. Try again later.'),
  body_too_large: final(413, 'The body is over the limit of {limit} bytes of gateway {gateway} (max-body).'),
  signature_invalid: final(401, 'The signature check of gateway {gateway} failed: {reason}.'),
  mail_unavailable: passing(503, 'Gateway {gateway} cannot take the mail yet: {reason}. Post it again.'),
  keys_unavailable: passing(
    503,
    'The keys that verify requests to gateway {gateway} cannot be fetched: {reason}. Try again.',
  ),
  method_not_allowed: final(405, '{method} is not allowed at {path}; use {allowed}.'),
  upgrade_required: final(426, '{path} is for WebSocket connections; use a WebSocket client.'),
  not_found: final(404, 'There is no {path}.{hint}'),
  bad_request: final(400, 'The request cannot be read: {reason}.'),
  unauthorized: final(
    401,
    'A valid bearer token is needed; it is in <data dir>/control-token or TRIVIUM_TOKEN.',
  ),
  sign_in_failed: final(401, 'Sign-in failed: {reason}.'),
  sign_in_refused: final(
    403,
    '{who} may not sign in here. `allow` under `console: { oidc }` in routes.yaml says who may.',
  ),
  issuer_unavailable: passing(
    503,
    'The identity provider {issuer} cannot be used: {reason}. Signing in with the control token works.',
  ),
  forbidden: final(403, '{what} is not allowed: {reason}.'),
  config_invalid: misuse(422, '{details}'),
  cannot_listen: passing(503, 'Cannot listen on {address}: {reason}. Free it, or set {setting}.'),
  part_missing: misuse(
    501,
    'The {partsAre} not installed{why}. Run `{command}` in {folder}, or `trivium parts install {names}`.',
  ),
  install_failed: final(
    500,
    'The command `{command}` in {folder} ended with {code}. Run it by hand to see why.',
  ),
  skill_not_found: misuse(404, 'There is no skill {name}.{hint}'),
  skill_args_invalid: misuse(422, 'Invalid arguments for skill {name}: {details}'),
  skill_broken: final(500, 'Skill {name} cannot be loaded from {path}: {reason}'),
  skill_failed: passing(500, 'Skill {name} failed: {reason}'),
  listener_failed: passing(500, 'The Bolt app {file} failed: {reason}'),
  skill_timeout: passing(504, 'Skill {name} took longer than {timeout}.'),
  cancelled: passing(499, '{what} was cancelled: {reason}.'),
  recursion_limit: final(500, 'Skill {name} was invoked {depth} levels deep; the limit is {limit}.'),
  message_not_found: final(404, 'There is no message {id}, or it is no longer retained.'),
  dead_letter_not_found: final(404, 'There is no dead letter {id}.'),
  gateway_not_found: final(404, 'There is no running gateway {name}.{hint}'),
  conversation_not_found: final(
    404,
    'Gateway {gateway} has no conversation {conversation}: no client ever opened it. Nothing was sent.',
  ),
  topic_reserved: final(422, 'The topic {topic} is reserved for Trivium; choose another name.'),
  group_not_found: final(404, 'There is no consumer group {group} on topic {topic}; subscribe first.'),
  group_filter: final(
    409,
    'Group {group} of topic {topic} has {filter}. A filter belongs to the group: read without `match`, give the group another by event-subscribe, or use another group.',
  ),
  event_not_found: final(404, 'Event {id} of topic {topic} is no longer retained, or group {group} is gone.'),
  target_not_allowed: final(
    403,
    'Gateway {gateway} sends only replies; set `open: true` on it to send to other targets.',
  ),
  no_reply_target: final(422, 'There is no recipient: {reason}.'),
  max_deliveries: final(
    500,
    'Message {id} was delivered {count} times without an acknowledgement (max-deliveries of gateway {gateway}).',
  ),
  group_max_deliveries: final(
    500,
    'Event {id} of topic {topic} reached the max-deliveries of group {group} without an acknowledgement.',
  ),
  receipt_expired: final(
    410,
    'The receipt {receipt} is no longer valid: its lease ended, or its message was acknowledged. Nothing was sent. Answer with `messageId`, or receive again.',
  ),
  run_cancelled: final(409, 'The attempt on message {id} was cancelled by {by}: {reason}.'),
  refused_gone: final(
    404,
    'This daemon keeps no such refused delivery of gateway {gateway}. The newest 20 are kept for an hour, by the daemon that refused them.',
  ),
  run_not_running: final(409, 'No attempt on message {id} is running; the message is {outcome}.'),
  send_not_found: final(
    404,
    'No planned send with the key {id} is waiting. To find one that was already due, use its id, or its key with `gateway` or `messageId`.',
  ),
  send_decided: final(409, 'The send {id} was due at {at} and {fate}; it can no longer be cancelled.'),
  send_key_ambiguous: final(
    409,
    'Several waiting sends have the key {key}: {ids}. Pass one of these as `id`, or add `gateway` or `messageId`.',
  ),
  send_failed: passing(502, 'Gateway {gateway} could not send: {reason}'),
  send_ambiguous: passing(
    502,
    'Gateway {gateway} does not know whether {key} was sent: {reason}. It checks before it sends again.',
  ),
  login_failed: final(502, 'The login failed: {reason}'),
  send_rejected: final(502, 'Gateway {gateway} permanently rejected the message: {reason}'),
  push_failed: passing(502, 'Subscription {name} could not push: {reason}'),
  subscription_not_found: final(404, 'There is no push subscription {name}.{hint}'),
  subscription_exists: final(
    409,
    'A push subscription {name} already exists, in {where}. Choose another name, or {instead}.',
  ),
  subscription_in_file: final(
    409,
    'Push subscription {name} is in routes.yaml. Change it there; a running daemon reloads the file.',
  ),
  subscription_not_empty: final(
    409,
    'Deleting push subscription {name} would also delete {what}. Repeat it with `force` (--force), or let it send them first.',
  ),
  job_not_found: final(404, 'There is no long job {id}, or it ended more than a week ago; see job-list.'),
  job_cancelled: final(409, 'The long job {id} was cancelled.'),
  job_failed: final(502, 'Queue {queue}: the job failed after {attempts} attempts: {reason}'),
  no_reply: final(504, 'Message {id} got no reply: {why}. See `trivium message show {id}`.'),
  job_timeout: passing(504, 'Queue {queue}: the job did not finish within {timeout}; {what}.'),
  callback_not_found: final(404, 'There is no callback {ref}, or it has ended.'),
  callback_released: final(410, 'Callback {ref} was released before it answered.'),
  callback_timeout: passing(504, 'Callback {ref} did not answer within {timeout}.'),
  callback_failed: final(502, 'Callback {ref} answered with an error: {reason}'),
  nobody_to_ask: final(422, 'There is no one to ask: {why}.'),
  approval_not_found: final(404, 'There is no approval {id}, or it is no longer kept.'),
  approval_decided: final(409, 'Approval {id} was already decided: {status}.'),
  approval_pending: passing(202, 'Skill {name} is waiting for approval {id}.'),
  approval_denied: final(403, 'Skill {name} was not approved: {reason}.'),
  model_missing: misuse(
    422,
    'Skill {name} needs a model: set `model` in its front matter, on the route or in the configuration, e.g. `anthropic:<model>`.',
  ),
  model_unusable: misuse(422, 'Model {model} cannot be used: {reason}'),
  model_failed: passing(502, 'Model {model} failed: {reason}'),
  budget_exhausted: passing(429, 'The budget of {limit} {whose} is used up. It is available again at {at}.'),
  model_limit: final(500, 'Skill {name} reached its limit of {limit}.'),
  mcp_unavailable: passing(503, 'MCP server {server} cannot be used: {reason}.{todo}'),
  mcp_failed: passing(502, 'Tool {tool} of MCP server {server} failed: {reason}'),
  mcp_unknown: final(
    502,
    'The connection to MCP server {server} broke while {tool} ran, and its outcome is unknown: {reason}. Check before you call it again.',
  ),
  state_conflict: passing(409, '{what} kept changing while it was written. Try again.'),
  not_running: {
    ...final(
      503,
      'No daemon is running for {path}. Start one with `trivium start`; for one with another data directory add --data-dir.',
    ),
    exit: 3,
  },
  stopping: passing(503, 'The daemon is stopping. {what} Try again in a moment.'),
  not_answering: passing(
    504,
    'The daemon (process {pid}) did not answer at {address} within {seconds} s: it is suspended or busy. See its log, and kill it if it stays unresponsive.',
  ),
  state_invalid: final(422, 'Document {name} was not changed: {details}'),
  document_conflict: passing(
    409,
    'Document {name} is at revision {found}, not {expected}: another writer changed it. Read it and try again.',
  ),
  state_locked: passing(503, '{path} was held by another process for {seconds} s. Try again.'),
  state_unwritable: passing(507, '{path} cannot be written: {reason}. Nothing was changed.'),
  state_corrupt: misuse(500, '{path} cannot be read: {reason}. It was left unchanged; repair it, or {todo}.'),
  state_version: misuse(500, '{path} has schema_version {found}; this Trivium knows version {known}. {what}'),
  state_human_touch: passing(
    409,
    '{name} was edited by a person {seconds} s ago; agents wait {grace} s. Read it again, then try again.',
  ),
  document_not_found: misuse(404, 'There is no document {name}.{hint}'),
  limit_reached: final(422, '{what}: the limit is {limit}. {todo}'),
  call_unknown: final(
    409,
    'The call {key} was started at {time} and its outcome is unknown. Check whether it ran, then mark the call as settled.',
  ),
  artifact_not_found: final(404, 'There is no file {sha256} here, or it belongs to another conversation.'),
  artifact_too_large: final(
    413,
    'The file {name} is over the limit of {limit} bytes. Send a link to it instead.',
  ),
  usage: misuse(400, '{details}'),
  internal: final(500, 'Internal error: {reason}'),
}

export type ErrorCode = keyof typeof catalogue

/** Maximum length of a value in a message, so that senders cannot fill logs and answers. Lists of problems may be longer. */
const MOST = { details: 20_000, other: 4_000 }

/** A problem at one place of what was given, such as `{ path: 'match.gateway', message: 'is missing' }`. */
export type ErrorDetail = { path: string; message: string }

/** The only error class: a code of the catalogue and the values for its template. */
export class TriviumError extends Error {
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly status: number
  readonly exit: number
  /** For input with wrong parts: what is wrong where. */
  readonly details?: readonly ErrorDetail[]

  constructor(
    code: ErrorCode,
    values: Record<string, string | number> = {},
    options?: ErrorOptions & { details?: readonly ErrorDetail[] },
  ) {
    const found = catalogue[code]
    super(
      found.message.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
        headOf(String(values[name] ?? ''), name === 'details' ? MOST.details : MOST.other),
      ),
      options,
    )
    this.name = 'TriviumError'
    this.code = code
    this.retryable = found.retryable
    this.status = found.status
    this.exit = found.exit
    if (options?.details) this.details = options.details
  }
}

/** The message of any thrown value. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Makes the function that makes the error for a file that cannot be locked or written. */
export function fileFailure(path: string) {
  return (code: 'state_locked' | 'state_unwritable', cause?: unknown): TriviumError =>
    new TriviumError(code, { path, seconds: LOCK_PATIENCE / 1000, reason: reasonOf(cause) }, { cause })
}

/** Turns a failed file write into a TriviumError; TriviumErrors are returned unchanged. */
export function unwritable(path: string, error: unknown): TriviumError {
  return error instanceof TriviumError ? error : fileFailure(path)('state_unwritable', error)
}

/** Turns any thrown value into a TriviumError, which has a code and an HTTP status. */
export function toTriviumError(error: unknown): TriviumError {
  return error instanceof TriviumError
    ? error
    : new TriviumError('internal', { reason: reasonOf(error) }, { cause: error })
}

/** For deliveries that arrive while the daemon is stopping; senders retry. */
export function stoppingError(): TriviumError {
  return new TriviumError('stopping', { what: 'Nothing was accepted.' })
}

/** The body of every error response. */
export function errorBody({ code, message, details }: Pick<TriviumError, 'code' | 'message' | 'details'>) {
  return { error: { code, message, ...defined({ details }) } }
}
