import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { buffer, text } from 'node:stream/consumers'
import { proofOf } from '../api/token.ts'
import { catalogue, type ErrorCode, TriviumError } from '../core/errors.ts'
import {
  isJsonObject,
  type Json,
  type JsonObject,
  objectsIn,
  parseJson,
  pathGet,
  toJson,
} from '../core/json.ts'
import type { Submission } from '../core/message.ts'
import { defined } from '../lib/defined.ts'
import { type IncomingMessage, type RequestOptions, request } from '../lib/node-http.ts'
import type { Printable } from '../lib/printed.ts'
import { type CommandContext, type Environs, loadFor, userName } from './command.ts'
import { locate, readDaemonFile, readText } from './data-dir.ts'
import { withNameChecks } from './known-names.ts'
import { waitForLock } from './patience.ts'
import { pretty, show } from './terminal.ts'

/** What commands talk to: a running daemon, or a temporary one in this process. */
export type Connection = Omit<
  ReturnType<typeof remote>,
  'stream' | 'file' | 'exported' | 'mcp' | 'isDraining' | 'rotateToken'
>

/** Makes a connection: `connect`, `connectOrRead`, or `connectOrOpen`. */
export type OpenConnection = (environs: Environs) => Promise<Connection>

/** Connects, runs `question`, prints the result and disconnects, as most commands do. */
export async function ask(
  context: CommandContext,
  question: (connection: Connection) => Promise<Json>,
  human: (answer: Json) => Printable = pretty,
  open: OpenConnection = connectOrRead,
): Promise<void> {
  await using connection = await open(context.environs())
  const answer = await question(withNameChecks(connection, context.environs()))
  show(context.terminal(), answer, () => human(answer))
}

/** Connects to the running daemon. Throws `not_running`. */
export async function connect(environs: Environs) {
  const located = await locate(environs)
  const { dataDir } = located
  const token = located.token ?? readText(dataDir, 'control-token')
  const file = readDaemonFile(dataDir)
  if (!file) throw new TriviumError('not_running', { path: dataDir })
  const nonce = randomBytes(16).toString('base64url')
  const { control: address, pid } = file
  const signal = AbortSignal.timeout(PROOF_TIMEOUT)
  const proof = await fetchJson(`http://${address}/v1/proof/${nonce}`, { signal }).catch(() => undefined)
  if (signal.aborted && isAlive(pid))
    throw new TriviumError('not_answering', { pid, address, seconds: PROOF_TIMEOUT / 1000 })
  const own = proofOf(token ?? '', nonce)
  if (token !== undefined && proof === own) return remote(address, token)
  // A daemon with another token answered, for example because the file `control-token` is old.
  const isDaemon = String(proof).length === own.length || (token === undefined && proof !== undefined)
  // Without a daemon, the port is unused or belongs to another program: `daemon.json` is old.
  const hint = environs.env.TRIVIUM_TOKEN
    ? ' TRIVIUM_TOKEN is set to another one: unset it, or correct it.'
    : ''
  throw isDaemon
    ? new TriviumError('unauthorized', { hint })
    : new TriviumError('not_running', { path: dataDir })
}

/**
 * How long (ms) to wait for the daemon's proof that it has the token. A suspended daemon is rarer
 * than a machine on which everything takes seconds.
 */
const PROOF_TIMEOUT = 15_000

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return pathGet(error, 'code') === 'EPERM'
  }
}

/** A store can be read without the secrets of gateways, models and receivers. */
const FOR_STORE = { withoutVariables: 'except-store' } as const

/**
 * Connects to the running daemon, or opens the store in this process; either way there is one
 * writer. Waits for other commands, and for a daemon that is starting or stopping. Variables of
 * routes.yaml may be unset, so the connection must not use gateways, routes or models.
 */
export function connectOrRead(environs: Environs): Promise<Connection> {
  return connectOr(environs, () => connectIfRunning(environs), FOR_STORE)
}

/**
 * Like `connectOrRead`, for commands that need the complete configuration. Throws `config_invalid`
 * for unset variables.
 */
export function connectOrOpen(environs: Environs): Promise<Connection> {
  return connectOr(environs, () => connectIfRunning(environs))
}

/** Like `connectOrOpen`, but does not use a draining daemon, which would not answer messages. */
export function connectOrOpenToSend(environs: Environs): Promise<Connection> {
  return connectOr(environs, async () => {
    const daemon = await connectIfRunning(environs)
    return (await daemon?.isDraining()) ? undefined : daemon
  })
}

async function connectOr(
  environs: Environs,
  findDaemon: () => ReturnType<typeof connectIfRunning>,
  reading: typeof FOR_STORE | object = {},
): Promise<Connection> {
  const daemon = await findDaemon()
  if (daemon) return daemon
  const { dataDir, redisUrl } = (await loadFor(environs, reading)).daemon
  if (redisUrl !== undefined) return local(environs, reading)
  // Loaded before the lock is taken, because others wait for the lock.
  await import('./own-daemon.ts')
  const daemonOrLock = await waitForLock(dataDir, environs, findDaemon)
  return 'invoke' in daemonOrLock ? daemonOrLock : local(environs, reading, daemonOrLock)
}

/** Resolves with undefined if no daemon is running. */
function connectIfRunning(environs: Environs) {
  return connect(environs).catch((error: unknown) => {
    if (isNotRunning(error)) return undefined
    throw error
  })
}

/**
 * Takes the lock of a data directory for a daemon, or a command that needs it alone. Does not wait
 * for a running daemon.
 */
export function lockAlone(dir: string, environs: Environs): Promise<Disposable> {
  return waitForLock<never>(dir, environs, async (lockError) => {
    if (await connectIfRunning(environs).catch(() => true)) throw lockError
    return undefined
  })
}

export function isNotRunning(error: unknown): boolean {
  return error instanceof TriviumError && error.code === 'not_running'
}

/** `control`: the address of the daemon as `host:port`. */
function remote(control: string, token: string) {
  const headers = { authorization: `Bearer ${token}`, 'x-trivium-client': clientName() }
  const get = (path: string) => fetchJson(`http://${control}/v1/${path}`, { headers })
  const post = (path: string, body: unknown, signal?: AbortSignal) =>
    fetchJson(`http://${control}/v1/${path}`, { method: 'POST', headers, ...defined({ signal }) }, body)
  return {
    running: true,
    /** The MCP endpoint. */
    mcp: { url: `http://${control}/mcp`, headers },
    /** Runs a skill. `signal` ends the call, including its waits on the daemon. */
    invoke: (name: string, args: unknown, signal?: AbortSignal) =>
      post(`skills/${encodeURIComponent(name)}`, args, signal),
    skills: () => get('skills'),
    describe: (name: string) => get(`skills/${encodeURIComponent(name)}`),
    status: () => get('status'),
    async isDraining() {
      const readiness = await send(`http://${control}/readyz`, { headers }).then((response) => text(response))
      return pathGet(parseJson(readiness), 'detail.draining') === true
    },
    doctor: () => post('doctor', {}),
    submit: (submission: Submission) => post('messages', submission),
    explain: (what: string | Submission) =>
      typeof what === 'string' ? get(`messages/${encodeURIComponent(what)}/explain`) : post('explain', what),
    reload: () => post('reload', {}),
    /** Replaces the control token. Further calls of this connection fail. */
    rotateToken: () => post('control-token', {}),
    /** Reads an attachment of a message. */
    async file(sha256: string, message: string): Promise<Buffer> {
      const url = `http://${control}/v1/artifacts/${sha256}?message=${encodeURIComponent(message)}`
      const response = await send(url, { headers })
      if (response.statusCode !== 200) await answerOf(response, url)
      return buffer(response)
    },
    /** Reads an export of a person, which may be large. */
    async exported(sha256: string): Promise<IncomingMessage> {
      const url = `http://${control}/v1/artifacts/${sha256}`
      const response = await send(url, { headers })
      if (response.statusCode !== 200) await answerOf(response, url)
      return response
    },
    /** The event stream in chunks of text, starting after the message `last`. */
    async stream(query: string, last: string | undefined, signal: AbortSignal) {
      const since = last === undefined ? {} : { 'last-event-id': last }
      const options = { headers: { ...headers, ...since }, signal }
      const url = `http://${control}/v1/stream?${query}`
      const response = await send(url, options)
      if (response.statusCode !== 200) await answerOf(response, url)
      return response.setEncoding('utf8')[Symbol.asyncIterator]()
    },
    [Symbol.asyncDispose]: async () => {},
  }
}

async function local(
  environs: Environs,
  reading: typeof FOR_STORE | object,
  lock?: Disposable,
): Promise<Connection> {
  const { createOwnDaemon } = await import('./own-daemon.ts')
  const { daemon } = await createOwnDaemon(environs, {
    mode: 'local',
    level: 'warn',
    pretty: true,
    ...reading,
    ...defined({ lock }),
  })
  const { operator } = daemon
  const ended = new AbortController()
  let stopped: Promise<void> | undefined
  const caller = { kind: 'cli', id: clientName(), roles: ['operator'] } as const
  return {
    ...operator,
    running: false,
    invoke: async (name, args) => toJson(await operator.invoke(name, args, { caller, signal: ended.signal })),
    skills: async () => operator.skills(),
    describe: async (name) => operator.describe(name, true),
    async submit(submission) {
      // Only here: commands that read must not run skills or send anything.
      await daemon.start()
      return operator.submit(submission, ended.signal)
    },
    async explain(what) {
      // Loads the skills, which may add routes.
      await daemon.reload()
      return operator.explain(what)
    },
    async [Symbol.asyncDispose]() {
      ended.abort()
      stopped ??= daemon.stop()
      await stopped
    },
  }
}

/** Identifies the caller in logs and audit entries. */
function clientName(): string {
  return encodeURIComponent(`${userName()}@${hostname()}`).replaceAll('%40', '@')
}

/**
 * node:http rather than fetch, whose timeout of five minutes is too short for waits. Each request
 * has a connection of its own: the daemon may be closing an idle one when it is used again.
 */
function send(url: string, options: RequestOptions, body?: unknown): Promise<IncomingMessage> {
  const headers = { ...options.headers, 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { ...options, headers, agent: false }, resolve)
    outgoing.on('error', (cause) => reject(connectionError(url, cause)))
    outgoing.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

async function fetchJson(url: string, options: RequestOptions, body?: unknown): Promise<Json> {
  return answerOf(await send(url, options, body), url)
}

/** Reads a complete response; throws the error that it contains. */
async function answerOf(response: IncomingMessage, url: string): Promise<Json> {
  const body = await text(response).catch((cause) => Promise.reject(connectionError(url, cause)))
  const answer: Json = JSON.parse(body)
  if (!isJsonObject(answer)) return answer
  if (isJsonObject(answer.error)) throw errorFrom(answer.error)
  return answer.result ?? null
}

/** The error for a connection that failed or broke. */
function connectionError(url: string, cause: unknown): TriviumError {
  if (pathGet(cause, 'code') === 'ECONNREFUSED')
    return new TriviumError('not_running', { path: url }, { cause })
  const reason = 'the connection to the daemon was lost; the call may have run'
  return new TriviumError('cancelled', { what: 'The call', reason }, { cause })
}

/** An error in an answer of the daemon, with the daemon's message. */
function errorFrom({ code, message, details }: JsonObject): TriviumError {
  const isKnown = (given: unknown): given is ErrorCode => Object.hasOwn(catalogue, String(given))
  const parsed = objectsIn(details).map(({ path, message }) => ({
    path: String(path),
    message: String(message),
  }))
  const options = parsed.length > 0 ? { details: parsed } : {}
  const error = new TriviumError(isKnown(code) ? code : 'internal', {}, options)
  return Object.assign(error, { message: String(message) })
}
