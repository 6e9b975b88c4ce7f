import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { hostname, userInfo } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { readEnvironment } from '../config/environment.ts'
import { configPath } from '../config/load-config.ts'
import type { Submission } from '../control/api.ts'
import { catalogue, type ErrorCode, TriviumError } from '../core/errors.ts'
import { isJsonObject, type Json, pathGet, toJson } from '../core/json.ts'
import { readDaemonFile } from './daemon-file.ts'
import { type Environs, loadFor } from './environs.ts'

/** What commands talk to: a running daemon, or one made in this process for a moment. */
export type Connection = {
  running: boolean
  /** `signal` ends the call, and what it waits for on the daemon. */
  invoke(name: string, args: unknown, signal?: AbortSignal): Promise<Json>
  skills(): Promise<Json>
  describe(name: string): Promise<Json>
  status(): Promise<Json>
  doctor(): Promise<Json>
  submit(submission: Submission): Promise<Json>
  explain(messageId: string): Promise<Json>
  reload(): Promise<Json>
  close(): Promise<void>
}

/** Connects to the running daemon. Throws `not_running`. */
export async function connect(environs: Environs): Promise<Connection> {
  const { control, token } = await controlOf(environs)
  return remote(control, token)
}

/** The control address (`host:port`) and token of the running daemon. Throws `not_running`. */
export async function controlOf(environs: Environs): Promise<{ control: string; token: string }> {
  const { dataDir, control, token } = await findDaemon(environs)
  if (control === undefined) throw new TriviumError('not_running', { path: dataDir })
  return { control, token }
}

/** Connects to the running daemon, or opens the store in this process; there is one writer in either case. */
export async function connectOrOpen(environs: Environs): Promise<Connection> {
  const found = await findDaemon(environs)
  return found.control === undefined ? local(environs) : remote(found.control, found.token)
}

type Found = { dataDir: string; control?: string; token: string }

/** A daemon is found in its data dir, also while its routes.yaml is broken. */
async function findDaemon(environs: Environs): Promise<Found> {
  const { dataDir, token } = await placeOf(environs)
  const file = readDaemonFile(dataDir)
  if (!file) return { dataDir, token: '' }
  return { dataDir, control: file.control, token: token ?? readToken(dataDir) }
}

/** Without the file the daemon was given its token, and this command was not. */
function readToken(dataDir: string): string {
  try {
    return readFileSync(join(dataDir, 'control-token'), 'utf8').trim()
  } catch (cause) {
    throw new TriviumError('unauthorized', {}, { cause })
  }
}

async function placeOf(environs: Environs): Promise<{ dataDir: string; token?: string }> {
  try {
    const { dataDir, token } = (await loadFor(environs)()).daemon
    return { dataDir, ...(token === undefined ? {} : { token }) }
  } catch (error) {
    const env = await readEnvironment(environs.cwd, environs.env).catch(() => environs.env)
    const file = configPath(environs.cwd, env, environs.path)
    const dataDir = env.TRIVIUM_DATA_DIR
      ? resolve(environs.cwd, env.TRIVIUM_DATA_DIR)
      : resolve(dirname(file), '.trivium')
    if (!readDaemonFile(dataDir)) throw error
    return { dataDir, ...(env.TRIVIUM_TOKEN ? { token: env.TRIVIUM_TOKEN } : {}) }
  }
}

function remote(control: string, token: string): Connection {
  const call = async (method: 'GET' | 'POST', path: string, body?: unknown, signal?: AbortSignal) => {
    const answer = await fetchJson(`http://${control}${path}`, method, token, body, signal)
    return pathGet(answer, 'result') as Json
  }
  return {
    running: true,
    invoke: (name, args, signal) => call('POST', `/v1/skills/${encodeURIComponent(name)}`, args, signal),
    skills: () => call('GET', '/v1/skills'),
    describe: (name) => call('GET', `/v1/skills/${encodeURIComponent(name)}`),
    status: () => call('GET', '/v1/status'),
    doctor: () => call('GET', '/v1/doctor'),
    submit: (submission) => call('POST', '/v1/messages', submission),
    explain: (id) => call('GET', `/v1/messages/${encodeURIComponent(id)}/explain`),
    reload: () => call('POST', '/v1/reload', {}),
    close: async () => {},
  }
}

async function local(environs: Environs): Promise<Connection> {
  const [{ createDaemon }, { createLogger }] = await Promise.all([
    import('../daemon.ts'),
    import('../control/logger.ts'),
  ])
  let secrets: readonly string[] = []
  const log = createLogger({
    level: 'warn',
    secrets: () => secrets,
    destination: process.stderr,
    pretty: true,
  })
  const daemon = await createDaemon({
    async load(skills) {
      const config = await loadFor(environs)(skills)
      secrets = config.secrets
      return config
    },
    mode: 'local',
    version: environs.version,
    env: await readEnvironment(environs.cwd, environs.env),
    log,
  })
  const { operator } = daemon
  // Only a message that wants its answer needs the roads: looking must start no skill and send nothing.
  let started: Promise<unknown> | undefined
  const ended = new AbortController()
  const by = {
    caller: { kind: 'cli', id: clientName(), roles: ['operator'] },
    rootId: `control:${clientName()}`,
    signal: ended.signal,
    headers: {},
  } as const
  return {
    running: false,
    invoke: async (name, args) => toJson(await operator.invoke(name, args, by)),
    skills: async () => operator.skills(),
    describe: async (name) => operator.describe(name),
    status: operator.status,
    doctor: operator.doctor,
    async submit(submission) {
      started ??= daemon.start()
      await started
      return operator.submit(submission, ended.signal)
    },
    async explain(id) {
      // Routes that skills bring are known only now.
      await daemon.reload()
      return operator.explain(id)
    },
    reload: operator.reload,
    async close() {
      ended.abort()
      await daemon.stop()
    },
  }
}

/** Names who asks, so that `event-subscribe` and a later `event-wait` of one person meet in one group. */
function clientName(): string {
  return encodeURIComponent(`${userName()}@${hostname()}`).replaceAll('%40', '@')
}

/** In a container the user may have a number only. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'user')
  }
}

/** node:http rather than fetch: a wait may take longer than fetch's five minutes. */
function fetchJson(
  url: string,
  method: string,
  token: string,
  body: unknown,
  signal: AbortSignal | undefined,
): Promise<Json> {
  const payload = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    authorization: `Bearer ${token}`,
    'x-trivium-client': clientName(),
    ...(payload === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
  }
  return new Promise((resolvePromise, reject) => {
    const outgoing = request(url, { method, headers, ...(signal ? { signal } : {}) }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        try {
          resolvePromise(readAnswer(Buffer.concat(chunks).toString(), response.statusCode ?? 0))
        } catch (error) {
          reject(error)
        }
      })
    })
    outgoing.on('error', (cause) => reject(new TriviumError('not_running', { path: url }, { cause })))
    outgoing.end(payload)
  })
}

function readAnswer(text: string, status: number): Json {
  const answer: Json = JSON.parse(text)
  const error = isJsonObject(answer) ? answer.error : undefined
  if (!isJsonObject(error)) return answer
  throw new RemoteError(String(error.code), String(error.message), status)
}

/** An error of the daemon, told here in its own words. */
class RemoteError extends TriviumError {
  constructor(code: string, message: string, status: number) {
    super(isErrorCode(code) ? code : 'internal', { reason: `${message} (HTTP ${status})` })
    this.message = message
  }
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(catalogue, code)
}
