import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex, Readable } from 'node:stream'
import type { TriviumError } from './errors.ts'
import type { JsonObject } from './json.ts'
import type { Log } from './log.ts'
import type { Accepted, Attachment, NewMessage } from './message.ts'
import type { Receipt, Reply } from './reply.ts'
import type { KeyValues, Leases } from './store.ts'

/** Dependencies of every transport. */
export type TransportDeps = {
  /** The gateway's name. */
  gateway: string
  /**
   * Resolves when the message is durable; only then may the transport acknowledge upstream. After
   * `store_unavailable` or `overloaded` it must refuse, so that upstream retries.
   */
  accept(message: NewMessage): Promise<Accepted>
  /**
   * Like `accept`, for the messages of one delivery. They are accepted in one step; on a sharded
   * store, in one step per shard. If it rejects, some may be accepted. The sender must repeat the
   * delivery, which is deduplicated by the keys.
   */
  acceptAll(messages: readonly NewMessage[]): Promise<Accepted[]>
  http: PublicHttp
  replies: ReplyLog
  artifacts: Artifacts
  kv: KeyValues
  leases: Leases
  /**
   * Resolves with the outcome of a message's dispatch, or undefined at the timeout. For `respond:
   * result`.
   */
  settled(messageId: string, timeout: number): Promise<'done' | 'failed' | 'unrouted' | undefined>
  log: Log
  now(): number
  /**
   * Adds a later event of a reply (a bounce, an edit) to the history of its message. Never throws.
   */
  note(messageId: string, what: string, detail: JsonObject): void
  /**
   * Counts a refused delivery by reason (`trivium_refused_total`), and lists it in the skill
   * `refused`. `accept` reports its own refusals.
   */
  refused(reason: string, what?: Refused): void
}

/** Details of a refused delivery. */
export type Refused = {
  from?: string | undefined
  /** The reason in words. */
  why?: string
  body?: string | Buffer | undefined
  /** The headers of its request. */
  headers?: Readonly<Record<string, string | string[] | undefined>> | undefined
  /** The name of the header that has the credentials, if it is configured. */
  secretHeader?: string | undefined
  /**
   * The id that `tryRefused` gets to try another secret on this delivery; absent if that is
   * impossible.
   */
  id?: string | undefined
}

/** The public listener, shared by all gateways. */
export type PublicHttp = {
  /**
   * Returns a function that unmounts; throws `config_invalid` if the path is taken. An error of the
   * handler becomes the response, with the headers that were already set. Such errors are logged at
   * a bounded rate.
   */
  mount(path: string, handler: RequestHandler): () => void
  /**
   * Reads a whole body. Must be called before the handler awaits anything. Rejects with
   * `body_too_large` over `limit` bytes, and with `overloaded` while the unfinished bodies of all
   * senders together exceed the limit of the listener. Never settles if the sender disconnects.
   */
  readBody(request: IncomingMessage, limit: number, gateway: string): Promise<Buffer>
  /**
   * Like `readBody`, without a promise, which would cost a tick per request. `take` is called in
   * the turn in which the body ends, and must not throw. `failed` is called in a later turn.
   */
  takeBody(
    request: IncomingMessage,
    about: { limit: number; gateway: string },
    take: (body: Buffer) => void,
    failed: (error: TriviumError) => void,
  ): void
  /** Answers a request with an error, as if its handler had thrown it. */
  fail(request: IncomingMessage, response: ServerResponse, error: unknown): void
  /** `public-url`, if it is set. */
  publicUrl(): string | undefined
  /**
   * Whether the listener is on loopback only. Then gateways that do not verify senders refuse
   * requests from web pages.
   */
  isLocal: boolean
  /**
   * Mounts a handler of upgrades, like `mount`. An error of the handler becomes the response, and
   * the connection is not upgraded.
   */
  upgrade(path: string, handler: UpgradeHandler): () => void
}

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void>

/**
 * Replies per conversation, numbered from 1, in the store: any daemon appends; the daemon with the
 * connection reads.
 */
export type ReplyLog = {
  /** Appends a reply; the same key only once. */
  append(conversation: string, reply: Reply): Promise<Receipt>
  read(conversation: string, after: number, max: number): Promise<{ seq: number; data: JsonObject }[]>
  /** The number of the newest reply; 0 if there is none. */
  end(conversation: string): Promise<number>
  onAppend(conversation: string, listener: () => void): () => void
}

/**
 * Files by content hash, under `<data dir>/artifacts/`. Any daemon of the store can open what
 * another saved.
 */
export type Artifacts = {
  /**
   * Saves a file, which is durable when the promise resolves. Throws `artifact_too_large` over
   * `limit` bytes, or `store_unavailable`.
   */
  save(name: string, type: string, body: Readable | Uint8Array, limit: number): Promise<Attachment>
  /** Throws `artifact_not_found`, `store_unavailable`. */
  open(sha256: string): Promise<Readable>
}
