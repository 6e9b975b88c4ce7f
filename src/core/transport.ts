import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex, Readable } from 'node:stream'
import { type ZodType, z } from 'zod'
import type { TriviumError } from './errors.ts'
import { type Json, type JsonObject, jsonObjectSchema } from './json.ts'
import type { Log } from './log.ts'
import { type Accepted, type Attachment, attachmentSchema, type Message, type NewMessage } from './message.ts'
import type { Part } from './parts.ts'
import type { KeyValues, Leases } from './store.ts'

/**
 * A kind of transport: a folder in `transports/` and a line in its registry. `Host`: what it needs
 * from the daemon beyond `TransportDeps`, declared in its `host.ts`.
 */
export type TransportKind<Options = unknown, Host = unknown> = {
  kind: string
  /** Strict schema of its own gateway keys. */
  options: ZodType<Options>
  /**
   * The new last part of renamed options, by their former path (`oauth.clientId`). The former path
   * still works, with a warning.
   */
  former?: Readonly<Record<string, string>>
  /** The optional part whose packages `create` needs. */
  part?: Part
  /**
   * Identities are case-insensitive and in lower case in `from`; `compileMember` compares them
   * accordingly.
   */
  caseless?: boolean
  /** Frames of a persistent connection, by sender, for the API description. */
  frames?: { client: ZodType; server: ZodType }
  /**
   * Called once per enabled gateway. May load large modules, but does no other I/O. Throws for
   * contradictory options.
   */
  create(options: Options, deps: TransportDeps & Host): Promise<Transport>
  /**
   * The flat `data` of a message's event on `gateway-message`, without `messageId` and
   * `conversation`.
   */
  eventData(message: Message): JsonObject
  /**
   * The `data` of a test message, as this transport would fill it for a message that a person
   * writes; given fields stay. `account` is undefined if the gateway is not connected. Transports
   * without this method use the given data.
   */
  example?(given: ExampleMessage, account: Account | undefined): JsonObject
  /**
   * Why a message cannot be answered; undefined if it can. Transports without this method can
   * answer every message.
   */
  unanswerable?(message: Message): string | undefined
  /**
   * Whether a person waits for the reaction of a Bolt app, so that the message must not queue
   * behind earlier ones of its conversation.
   */
  isUrgent?(message: Message): boolean
  /** Loads a Bolt app, and ends it again. Throws `part_missing`. */
  tryListener?(file: string): Promise<ListenerTrial>
  /**
   * Why a target cannot exist on a gateway with these options; undefined if it may. On transports
   * without this method, any target may exist.
   */
  targetFault?(to: string, gateway: string, options: Options): string | undefined
}

/** The result of loading a Bolt app. */
export type ListenerTrial = {
  /** Why it cannot be loaded. */
  fault?: string
  /** What works differently than without Trivium. */
  warnings: string[]
}

/** A message that is submitted by hand. */
export type ExampleMessage = { text: string; from: string; data: JsonObject }

/** The account of a gateway at its provider: its workspace and its own user. */
export type Account = { team: string; teamName: string; user: string }

/** One gateway: a listener for messages and a sender of replies. */
export type Transport = {
  /**
   * Called once, after the roads are ready. Resolves when it listens; later failures show in
   * `health`.
   */
  start(): Promise<void>
  /**
   * Sends one reply, for the outbox. After a crash it may be called again with the same `key`, and
   * must not send twice if the transport can detect that. Must not wait for long: sends share a
   * limited number of slots.
   *
   * A thrown TriviumError becomes a retry if it is `retryable`, and a dead letter otherwise. Other
   * errors are retried. `SendPostponed` does not count as an attempt.
   */
  send(reply: Reply): Promise<Receipt>
  /**
   * Called before a send to an explicit target. Throws if the target is malformed, or is known not
   * to exist.
   */
  requireTarget?(to: string): Promise<void>
  /**
   * Supports several targets, `cc`, `bcc`, `replyAll` and `calendar`. Without it, such sends are
   * refused.
   */
  copies?: true
  /**
   * Checks whether an earlier `send` with this key arrived. Without this method, `send` recognises
   * the key itself.
   */
  probe?(reply: Reply): Promise<Probed>
  /**
   * Shows a reply piece by piece while a model writes it, on the daemon that runs the skill. Must
   * not throw. The full reply follows.
   */
  stream?(piece: ReplyPiece): void
  /**
   * Shows that a skill is working on a message, and which tool a model is calling, until `end`.
   * Runs on the daemon that runs the skill. The waiting person may cancel through `stop`. Best
   * effort, like `stream`; must not throw.
   */
  working?(message: Message, stop: () => void): { tool(name?: string): void; end(): void }
  /**
   * Shows the progress of the queue job that produces a reply. Best effort, like `stream`; never
   * awaited; must not throw.
   */
  progress?(step: ReplyPlace & { progress: Json }): void
  /**
   * Runs the listeners of a Bolt app for a message. Rejects with their error, and soon after
   * `signal` aborts or `timeout` ms pass.
   */
  runListeners?(
    file: string,
    to: { message: Message; route: string; signal: AbortSignal; timeout: number },
  ): Promise<void>
  /**
   * Present if workspaces install the app themselves (OAuth). Absent if routes.yaml has its tokens.
   */
  installs?:
    | {
        list(): Promise<Install[]>
        /**
         * Removes an installation and, if the provider can be reached, revokes its tokens. False:
         * not installed.
         */
        remove(team: string): Promise<boolean>
      }
    | undefined
  /** False if senders connect to it, so that a restart cannot repair anything. Default: true. */
  hasConnection?: boolean
  /**
   * Checks refused deliveries with another secret: the one with this id, or else the newest. Throws
   * `refused_gone` if it is no longer kept.
   */
  tryRefused?(what: { id?: string | undefined; secret: string }): Promise<RefusedTry>
  /**
   * The event name of a delivery with this text and these headers, as `data.event` would have it;
   * undefined if it has none.
   */
  eventOf?(given: { text: string; headers: JsonObject }): string | undefined
  /** The gateway's own account at its provider, once known. */
  account?(): Account | undefined
  /**
   * Stops receiving. Once it resolves, `accept` is not called any more; `send` works until `close`.
   */
  stop(): Promise<void>
  /** Releases all resources. */
  close(): Promise<void>
  health(): Health
  /** Checks for `trivium doctor`, also without `start`. Each failure says what to do. */
  check(): Promise<Check[]>
}

/** An installation: workspace, installer and time (Unix ms), as far as known. */
export type Install = { team: string; name?: string; at?: number; by?: string }

export type Health = {
  ok: boolean
  detail?: string
  /** Login and server, for people. */
  account?: string
  /** When it stopped working (Unix ms), as far as known. */
  since?: number
  /** A problem to report although the gateway works. */
  warning?: string
  /** Become metrics. */
  gauges?: {
    /** Open upstream connections as reported by upstream; 0 if this gateway lost its own. */
    connections?: number
    /** Since the last event, or since the start. */
    secondsSinceEvent?: number
  }
}

export type Check = {
  name: string
  ok: boolean
  /** It works, but an operator should know about it. */
  warning?: boolean
  detail: string
}

/** A reply, as the outbox passes it to a transport. */
export const replySchema = z.object({
  /** The idempotency key of this send. */
  key: z.string(),
  gateway: z.string(),
  conversation: z.string(),
  /** `data.replyTarget` of the inbound message; absent for sends to `to`. */
  target: jsonObjectSchema.exactOptional(),
  /** An explicit target; only on gateways with `open: true`. */
  to: z.string().exactOptional(),
  /** Further targets beside `to`. */
  moreTo: z.array(z.string()).exactOptional(),
  /** Further recipients. Needs `copies` of the transport; explicit addresses need `open: true`. */
  cc: z.array(z.string()).exactOptional(),
  bcc: z.array(z.string()).exactOptional(),
  /** Reply to all recipients of the inbound message. */
  replyAll: z.literal(true).exactOptional(),
  /** The answer to the invitation in the message. */
  calendar: z.enum(['accept', 'tentative', 'decline']).exactOptional(),
  text: z.string(),
  subject: z.string().exactOptional(),
  attachments: z.array(attachmentSchema).exactOptional(),
  /** The id of the answered message. */
  inReplyTo: z.string().exactOptional(),
  /** The sender, for the history: `route rest`, `http control`. */
  by: z.string().exactOptional(),
  data: jsonObjectSchema.exactOptional(),
})

export type Reply = z.infer<typeof replySchema>

/** Where a reply in progress will go. */
export type ReplyPlace = Pick<Reply, 'conversation' | 'target'> & { inReplyTo: string }

/** A piece of a reply in progress: `delta` is new, `text` is everything so far. */
export type ReplyPiece = ReplyPlace & { delta: string; text: string }

/**
 * Thrown by `send` if a rate limit postponed the reply. It is called again after `delay` ms. The
 * transport must remember, by key, any part of the reply that it already sent.
 */
export class SendPostponed extends Error {
  readonly delay: number
  constructor(delay: number) {
    super(`its turn comes in ${delay} ms`)
    this.name = 'SendPostponed'
    this.delay = delay
  }
}

/** Result of `probe`. `how`: what a person can do to find out, if the transport cannot. */
export type Probed = { sent: true; receipt: Receipt } | { sent: false } | { sent: 'unknown'; how?: string }

/**
 * Result of a send: the provider's id and further data. With `data.suppressed`, the reason, the
 * reply was not sent and will not be.
 */
export type Receipt = { id: string; data?: Json }

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
   * The same for the messages of one delivery, which are accepted in one step; on a sharded store,
   * in one step per shard. If it rejects, some may be accepted. The sender must repeat the
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
  /** Present if another secret can be tried on it (`tryRefused`). */
  id?: string | undefined
}

/** Result of `tryRefused`. */
export type RefusedTry = {
  /** Whether the secret fits the delivery. */
  ok: boolean
  reason?: string
  /** When the delivery arrived (Unix ms). */
  at: number
  /** How many of the `tried` kept deliveries the secret fits. */
  fits: number
  tried: number
}

/** The public listener, shared by all gateways. */
export type PublicHttp = {
  /**
   * Returns a function that unmounts; throws `config_invalid` if the path is taken. An error of the
   * handler becomes the response, keeps headers that were set, and is logged at a bounded rate.
   */
  mount(path: string, handler: RequestHandler): () => void
  /**
   * Reads a whole body. Must be called before the handler awaits anything. Rejects with
   * `body_too_large` over `limit` bytes, and with `overloaded` while the unfinished bodies of all
   * senders exceed their limit. Never settles if the sender disconnects.
   */
  readBody(request: IncomingMessage, limit: number, gateway: string): Promise<Buffer>
  /**
   * The same without a promise, which would cost a tick per request. `take` is called in the turn
   * in which the body ends, and must not throw. `failed` is called in a later turn.
   */
  takeBody(
    request: IncomingMessage,
    about: { limit: number; gateway: string },
    take: (body: Buffer) => void,
    failed: (error: TriviumError) => void,
  ): void
  /** Answers a request with an error, as if its handler had thrown it. */
  fail(request: IncomingMessage, response: ServerResponse, error: unknown): void
  /** The public address, if `public-url` is set. */
  publicUrl?(): string | undefined
  /**
   * Whether the listener is on loopback only. Then requests from web pages to open gateways are
   * refused.
   */
  isLocal: boolean
  /** An error of the handler becomes the response, and the connection is not upgraded. */
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
  end(conversation: string): Promise<number>
  onAppend(conversation: string, listener: () => void): () => void
}

/**
 * Files by content hash, under `<data dir>/artifacts/`. Any daemon of the store can open what
 * another saved.
 */
export type Artifacts = {
  /**
   * Durable when it resolves. Throws `artifact_too_large` over `limit` bytes, or
   * `store_unavailable`.
   */
  save(name: string, type: string, body: Readable | Uint8Array, limit: number): Promise<Attachment>
  /** Throws `artifact_not_found`, `store_unavailable`. */
  open(sha256: string): Promise<Readable>
}
