import { defined } from '../lib/defined.ts'
import { LOCK_TIMEOUT } from '../lib/file-lock.ts'
import { headOf } from '../lib/head-of.ts'

// The three kinds of errors: a permanent one, one after which the same call may succeed later, and
// a mistake of the user. `status`: the HTTP status. `message`: a template with `{names}`. `exit`:
// the exit code of the command line.
const permanent = (status: number, message: string) => ({ message, status, retryable: false, exit: 1 })
const temporary = (status: number, message: string) => ({ message, status, retryable: true, exit: 1 })
const misuse = (status: number, message: string) => ({ message, status, retryable: false, exit: 2 })

/** Every error that users can see. A test keeps `docs/errors.md` in step. */
export const catalogue = {
  store_unavailable: temporary(
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
  overloaded: temporary(503, '{what} reached its limit of {limit}. Try again in {seconds} s.'),
  rate_limited: temporary(429, 'Gateway {gateway} takes at most {rate}. Try again later.'),
  body_too_large: permanent(
    413,
    'The body is over the limit of {limit} bytes of gateway {gateway} (max-body).',
  ),
  signature_invalid: permanent(401, 'The signature check of gateway {gateway} failed: {reason}.'),
  mail_unavailable: temporary(503, 'Gateway {gateway} cannot take the mail yet: {reason}. Post it again.'),
  keys_unavailable: temporary(
    503,
    'The keys that verify requests to gateway {gateway} cannot be fetched: {reason}. Try again.',
  ),
  method_not_allowed: permanent(405, '{method} is not allowed at {path}; use {allowed}.'),
  upgrade_required: permanent(426, '{path} is for WebSocket connections; use a WebSocket client.'),
  not_found: permanent(404, 'There is no {path}.{hint}'),
  bad_request: permanent(400, 'The request cannot be read: {reason}.'),
  unauthorized: permanent(
    401,
    'A valid bearer token is needed; it is in <data dir>/control-token or TRIVIUM_TOKEN.{hint}',
  ),
  sign_in_failed: permanent(401, 'Sign-in failed: {reason}.'),
  sign_in_refused: permanent(
    403,
    '{who} may not sign in here. `allow` and `roles` under `console: { oidc }` in routes.yaml say who may.',
  ),
  issuer_unavailable: temporary(
    503,
    'The identity provider {issuer} cannot be used: {reason}. Signing in with the control token works.',
  ),
  forbidden: permanent(403, '{what} is not allowed: {reason}.'),
  config_invalid: misuse(422, '{details}'),
  cannot_listen: temporary(503, 'Cannot listen on {address}: {reason}. Free it, or set {setting}.'),
  part_missing: misuse(
    501,
    'The {partsAre} not installed{why}. Run `{command}` in {folder}, or `trivium parts install {names}`.',
  ),
  install_failed: permanent(
    500,
    'The command `{command}` in {folder} ended with {code}. Run it by hand to see why.',
  ),
  skill_not_found: permanent(404, 'There is no skill {name}.{hint}'),
  skill_args_invalid: misuse(422, 'Invalid arguments for skill {name}: {details}'),
  skill_broken: permanent(500, 'Skill {name} cannot be loaded from {path}: {reason}'),
  skill_failed: temporary(500, 'Skill {name} failed: {reason}'),
  listener_failed: temporary(500, 'The Bolt app {file} failed: {reason}'),
  skill_timeout: temporary(504, 'Skill {name} took longer than {timeout}.'),
  cancelled: temporary(499, '{what} was cancelled: {reason}.'),
  recursion_limit: permanent(500, 'Skill {name} was invoked {depth} levels deep; the limit is {limit}.'),
  message_not_found: permanent(404, 'There is no message {id}, or it is no longer retained.'),
  dead_letter_not_found: permanent(404, 'There is no dead letter {id}.{end}'),
  gateway_not_found: permanent(404, 'There is no running gateway {name}.{hint}'),
  conversation_not_found: permanent(
    404,
    'Gateway {gateway} has no conversation {conversation}: no client ever opened it. Nothing was sent.',
  ),
  topic_reserved: permanent(422, 'The topic {topic} is reserved for Trivium; choose another name.'),
  group_not_found: permanent(404, 'There is no consumer group {group} on topic {topic}; subscribe first.'),
  group_filter: permanent(
    409,
    'Group {group} of topic {topic} has {filter}. A filter belongs to the group: read without `match`, give the group another by event-subscribe, or use another group.',
  ),
  event_not_found: permanent(404, 'Event {id} of topic {topic} is not retained{otherwise}.'),
  target_not_allowed: permanent(
    403,
    'Gateway {gateway} sends only replies; set `open: true` on it to send to other targets.',
  ),
  no_reply_target: permanent(422, 'There is no recipient: {reason}.'),
  max_deliveries: permanent(
    500,
    'Message {id} was delivered {count} times without an acknowledgement (max-deliveries of gateway {gateway}).',
  ),
  group_max_deliveries: permanent(
    500,
    'Event {id} of topic {topic} reached the max-deliveries of group {group} without an acknowledgement.',
  ),
  receipt_expired: permanent(
    410,
    'The receipt {receipt} is no longer valid: its lease ended, or its message was acknowledged. Nothing was sent. Answer with `messageId`, or receive again.',
  ),
  run_cancelled: permanent(409, '{did} by {by}: {reason} (message {id}).'),
  refused_gone: permanent(
    404,
    'This daemon keeps no such refused delivery of gateway {gateway}. The newest 50 are kept for an hour, by the daemon that refused them.',
  ),
  newer_message: permanent(
    409,
    'Conversation {conversation} of gateway {gateway} has a newer message, {id}. It was not settled.',
  ),
  run_not_running: permanent(409, 'No attempt on message {id} is running; the message is {outcome}.'),
  not_retrying: permanent(
    409,
    'No attempt on message {id} waits for its time; the message is {outcome}.{hint}',
  ),
  send_not_found: permanent(
    404,
    'No planned send with the id or key {id} is waiting. To find one that was already due, use its id, or its key with `gateway` or `messageId`.',
  ),
  send_decided: permanent(409, 'The send {id} was due at {at} and {fate}; it can no longer be cancelled.'),
  send_key_ambiguous: permanent(
    409,
    'Several waiting sends have the key {key}: {ids}. Pass one of these as `id`, or add `gateway` or `messageId`.',
  ),
  send_failed: temporary(502, 'Gateway {gateway} could not send: {reason}'),
  send_ambiguous: temporary(
    502,
    'Gateway {gateway} does not know whether {key} was sent: {reason}. It checks before it sends again.',
  ),
  login_failed: permanent(502, 'The login failed: {reason}'),
  send_rejected: permanent(502, 'Gateway {gateway} permanently rejected the message: {reason}'),
  push_failed: temporary(502, 'Subscription {name} could not push: {reason}'),
  subscription_not_found: permanent(404, 'There is no push subscription {name}.{hint}'),
  subscription_exists: permanent(
    409,
    'A push subscription {name} already exists, in {where}. Choose another name, or {instead}.',
  ),
  subscription_in_file: permanent(
    409,
    'Push subscription {name} is in routes.yaml. Change it there; a running daemon reloads the file.',
  ),
  subscription_not_empty: permanent(
    409,
    'Deleting push subscription {name} would also delete {what}. Repeat it with `force` (--force), or let it send them first.',
  ),
  subscription_stopped: permanent(
    409,
    'Push subscription {name} is {state}, so nothing is tried. Resume it with subscription-resume.',
  ),
  job_not_found: permanent(404, 'There is no job {id}, or it ended more than a week ago; see job-list.'),
  person_not_found: permanent(404, 'There is no data about this person.{hint}'),
  job_ended: permanent(409, 'The job {id} has already ended: it is {state}. Nothing was cancelled.{hint}'),
  job_cancelled: permanent(409, 'The job {id} was cancelled.'),
  job_failed: permanent(502, 'Queue {queue}: the job failed after {attempts} attempts: {reason}'),
  no_reply: permanent(504, 'Message {id} got no reply: {why}. See `trivium message show {id}`.'),
  job_timeout: temporary(504, 'Queue {queue}: the job did not finish within {timeout}; {what}.'),
  callback_not_found: permanent(404, 'There is no callback {ref}, or it has ended.'),
  callback_released: permanent(410, 'Callback {ref} was released before it answered.'),
  callback_timeout: temporary(504, 'Callback {ref} did not answer within {timeout}.'),
  callback_failed: permanent(502, 'Callback {ref} answered with an error: {reason}'),
  nobody_to_ask: permanent(422, 'There is no one to ask: {why}.'),
  approval_not_found: permanent(404, 'There is no approval {id}, or it is no longer kept.'),
  approval_decided: permanent(409, 'Approval {id} was already decided: {status}{by}.'),
  approval_pending: temporary(202, 'Skill {name} is waiting for approval {id}.'),
  approval_denied: permanent(403, 'Skill {name} was not approved: {reason}.'),
  model_missing: misuse(
    422,
    'Skill {name} needs a model: set `model` in its front matter, on the route or in the configuration, e.g. `anthropic:<model>`.',
  ),
  model_unusable: misuse(422, 'Model {model} cannot be used: {reason}'),
  model_failed: temporary(502, 'Model {model} failed: {reason}'),
  skill_paused: temporary(
    503,
    'Skill {name} is paused {details}. To resume it: `trivium skill resume {name}`.',
  ),
  budget_exhausted: temporary(
    429,
    'The budget of {limit} {whose} is used up. It is available again at {at}.',
  ),
  model_limit: permanent(500, 'Skill {name} reached its limit of {limit}.'),
  mcp_unavailable: temporary(503, 'MCP server {server} cannot be used: {reason}.{todo}'),
  mcp_failed: temporary(502, 'Tool {tool} of MCP server {server} failed: {reason}'),
  mcp_unknown: permanent(
    502,
    'The connection to MCP server {server} broke while {tool} ran, and its outcome is unknown: {reason}. Check before you call it again.',
  ),
  state_conflict: temporary(409, '{what} kept changing while it was written. Try again.'),
  not_running: {
    ...permanent(
      503,
      'No daemon is running for {path}. Start one with `trivium start`; for one with another data directory add --data-dir.',
    ),
    exit: 3,
  },
  stopping: temporary(503, 'The daemon is stopping. {what} Try again in a moment.'),
  not_answering: temporary(
    504,
    'The daemon (process {pid}) did not answer at {address} within {seconds} s: it is suspended or busy. See its log, and kill it if it stays unresponsive.',
  ),
  state_invalid: permanent(422, 'Document {name} was not changed: {details}'),
  document_conflict: temporary(
    409,
    'Document {name} is at revision {found}, not {expected}: another writer changed it. Read it and try again.',
  ),
  state_locked: temporary(503, '{path} was held by another process for {seconds} s. Try again.'),
  state_unwritable: temporary(507, '{path} cannot be written: {reason}. Nothing was changed.'),
  state_corrupt: misuse(500, '{path} cannot be read: {reason}. It was left unchanged; repair it, or {todo}.'),
  state_version: misuse(500, '{path} has schema_version {found}; this Trivium knows version {known}. {todo}'),
  state_human_touch: temporary(
    409,
    '{name} was edited by a person {seconds} s ago; agents wait {grace} s. Read it again, then try again.',
  ),
  document_not_found: permanent(404, 'There is no document {name}.{hint}'),
  limit_reached: permanent(422, '{what}: the limit is {limit}. {todo}'),
  call_unknown: permanent(
    409,
    'The call {key} was started at {time} and its outcome is unknown. Check whether it ran, then mark the call as settled.',
  ),
  artifact_not_found: permanent(
    404,
    'There is no file {sha256} here, or it belongs to another conversation.',
  ),
  artifact_too_large: permanent(
    413,
    'The file {name} is over the limit of {limit} bytes. Send a link to it instead.',
  ),
  usage: misuse(400, '{details}'),
  internal: permanent(500, 'Internal error: {reason}'),
}

export type ErrorCode = keyof typeof catalogue

/**
 * Maximum length of a value in a message, so that senders cannot fill logs and answers. Lists of
 * problems may be longer.
 */
const MAX_VALUE = { details: 20_000, other: 4_000 }

/**
 * A problem at one place of the input, such as
 * `{ path: 'match.gateway', message: 'is missing' }`.
 */
export type ErrorDetail = { path: string; message: string }

/** The only error class: a code of the catalogue and the values for its template. */
export class TriviumError extends Error {
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly status: number
  readonly exit: number
  /** The problems of invalid input. */
  readonly details?: readonly ErrorDetail[]

  constructor(
    code: ErrorCode,
    values: Record<string, string | number> = {},
    options?: ErrorOptions & { details?: readonly ErrorDetail[] },
  ) {
    const found = catalogue[code]
    super(
      found.message.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
        headOf(String(values[name] ?? ''), name === 'details' ? MAX_VALUE.details : MAX_VALUE.other),
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

/** Clearer words for errors of the file system, by their code. */
const FILE_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder, not a file',
  ENOTDIR: 'a part of the path is a file, not a folder',
  ENOSPC: 'the disk is full',
  EROFS: 'the disk is read-only',
}

/** Why a file cannot be used. If permissions are missing, also what to do. */
export function fileReason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (Object.hasOwn(FILE_ERRORS, code)) return `${FILE_ERRORS[code]} (${code})`
  const reason = reasonOf(error)
  const isForbidden = error instanceof Error && 'code' in error && /^(EACCES|EPERM)$/.test(String(error.code))
  if (!isForbidden) return reason
  return `${reason} (this process runs as user ${process.getuid?.()}: run it as the owner of the file, or change the owner)`
}

/** Returns a function that creates the error for a file that cannot be locked or written. */
export function fileFailure(path: string) {
  return (code: 'state_locked' | 'state_unwritable', cause?: unknown): TriviumError =>
    new TriviumError(code, { path, seconds: LOCK_TIMEOUT / 1000, reason: fileReason(cause) }, { cause })
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
