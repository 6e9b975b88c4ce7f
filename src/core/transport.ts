import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex, Readable } from 'node:stream'
import { type ZodType, z } from 'zod'
import { type Json, type JsonObject, jsonObjectSchema } from './json.ts'
import type { Log } from './log.ts'
import { type Accepted, type Attachment, attachmentSchema, type Message, type NewMessage } from './message.ts'
import type { KeyValues, Leases } from './store.ts'

/**
 * A folder in `transports/` and a line in its registry. `options`: the strict schema of a gateway’s keys, besides those of every kind.
 * `Host`: what it needs of the daemon beyond what every transport needs, as its `host.ts` says.
 */
export type TransportKind<Options = unknown, Host = unknown> = {
  kind: string
  options: ZodType<Options>
  /** Its identities have no case, and `from` carries them in lower case: `compileMember` compares without case. */
  caseless?: boolean
  /** What is said over a connection that stays, either way; for the description of the API. */
  frames?: { client: ZodType; server: ZodType }
  /** Called once per enabled gateway. Does no I/O, but loads what is large. Throws for options that contradict each other. */
  create(options: Options, deps: TransportDeps & Host): Promise<Transport>
  /** The flat `data` of the event of a message on `gateway-message`, without `messageId` and `conversation`. */
  eventData(message: Message): JsonObject
  /** Why no reply can reach whoever sent a message; undefined where one can. Absent: one always can. */
  unanswerable?(message: Message): string | undefined
  /** Whether a person waits for what listeners do with a message, so that it must not wait for others of its conversation. */
  isUrgent?(message: Message): boolean
  /** Why a target can never exist on a gateway with these options; undefined where it may. Absent: any may. */
  targetFault?(to: string, gateway: string, options: Options): string | undefined
}

/** One gateway: a listener for messages and a sender of replies. */
export type Transport = {
  /** Called once, after the roads are ready. Resolves when it listens; what fails later shows in `health`. */
  start(): Promise<void>
  /**
   * Sends one reply, for the outbox. After a crash it may come again with the same `key`: where the transport can tell, it
   * must not send twice. Of what it throws `retryable` decides between another attempt and a dead letter; any other error
   * counts as retryable; `SendPostponed` is no attempt. Must not wait for long: sends share their places.
   */
  send(reply: Reply): Promise<Receipt>
  /** Called before a send to an explicit target, and throws where that is none or does not exist, as far as that is known from here. */
  requireTarget?(to: string): Promise<void>
  /** It takes several targets, `cc`, `bcc`, `replyAll` and `calendar`. Absent: such a send is refused. */
  copies?: true
  /** Looks whether an earlier `send` of this key arrived. Absent: `send` recognises the key itself. */
  probe?(reply: Reply): Promise<Probed>
  /** Shows a reply while a model writes it: each piece, on the daemon that runs the skill. Must not throw. The whole follows. */
  stream?(piece: ReplyPiece): void
  /**
   * Shows that a skill answers a message, on the daemon that runs it: with which tool a model is busy, until `end`. Who waits
   * may end it by `stop`. As with `stream`, best effort; must not throw.
   */
  working?(message: Message, stop: () => void): { tool(name?: string): void; end(): void }
  /** Shows how far a queue's job is that makes a reply. As with `stream`, best effort, never awaited; must not throw. */
  progress?(step: ReplyPlace & { progress: Json }): void
  /** Runs the listeners of a file (a Bolt app) for a message. Rejects with what fails, and soon after `signal` aborts or `timeout` ms. */
  listen?(
    file: string,
    to: { message: Message; route: string; signal: AbortSignal; timeout: number },
  ): Promise<void>
  /** Where workspaces let the app in by themselves, and not by tokens in routes.yaml. */
  installs?:
    | {
        list(): Promise<Install[]>
        /** Revokes its tokens where the provider can be asked. False: it is not installed there. */
        remove(team: string): Promise<boolean>
      }
    | undefined
  /** Stops taking messages in. After it resolves, `accept` is not called again; `send` still works until `close`. */
  stop(): Promise<void>
  /** Releases everything. */
  close(): Promise<void>
  health(): Health
  /** For `trivium doctor`, also without `start`: what can be verified from here, and what to do where it fails. */
  check(): Promise<Check[]>
}

/** Where the app was let in, by whom, and when (Unix ms), as far as that can be read. */
export type Install = { team: string; name?: string; at?: number; by?: string }

/**
 * `gauges` are for the metrics. `connections`: how many are open upstream, as far as upstream tells; 0 where this gateway
 * has lost its own. `secondsSinceEvent`: since anything came in, or since the start.
 */
export type Health = {
  ok: boolean
  detail?: string
  /** What an operator should know although it works. */
  warning?: string
  gauges?: { connections?: number; secondsSinceEvent?: number }
}

/** `warning`: it works, and somebody should know what it means. */
export type Check = { name: string; ok: boolean; warning?: boolean; detail: string }

/** What the outbox hands to a transport. */
export const replySchema = z.object({
  /** The idempotency key of this send. */
  key: z.string(),
  gateway: z.string(),
  conversation: z.string(),
  /** Where it goes: `data.replyTarget` of the inbound message; absent for sends to `to`. */
  target: jsonObjectSchema.exactOptional(),
  /** An explicit target; only on gateways with `open: true`. */
  to: z.string().exactOptional(),
  /** Further targets beside `to`. */
  moreTo: z.array(z.string()).exactOptional(),
  /** Further recipients; only where the transport says `copies`, and to explicit addresses only with `open: true`. */
  cc: z.array(z.string()).exactOptional(),
  bcc: z.array(z.string()).exactOptional(),
  /** Goes to all whom the message that is answered went to. */
  replyAll: z.literal(true).exactOptional(),
  /** What is answered to the invitation in the message. */
  calendar: z.enum(['accept', 'tentative', 'decline']).exactOptional(),
  text: z.string(),
  subject: z.string().exactOptional(),
  attachments: z.array(attachmentSchema).exactOptional(),
  /** The id of the message that it answers. */
  inReplyTo: z.string().exactOptional(),
  /** Who says it, for the history: `route rest`, `http control`. */
  by: z.string().exactOptional(),
  data: jsonObjectSchema.exactOptional(),
})

export type Reply = z.infer<typeof replySchema>

/** Where a reply that is being made will go. */
export type ReplyPlace = Pick<Reply, 'conversation' | 'target'> & { inReplyTo: string }

/** A piece of a reply that is being written: `delta` is new, `text` all there is so far. */
export type ReplyPiece = ReplyPlace & { delta: string; text: string }

/**
 * Thrown by `send` when nothing was sent because its turn under a rate limit has not come. It is called again after
 * `delay` ms. What was sent of the reply before must be remembered by its key.
 */
export class SendPostponed extends Error {
  readonly delay: number
  constructor(delay: number) {
    super(`its turn comes in ${delay} ms`)
    this.name = 'SendPostponed'
    this.delay = delay
  }
}

/** What a transport finds of a send whose outcome is unknown; `how` a person can find out where it cannot. */
export type Probed = { sent: true; receipt: Receipt } | { sent: false } | { sent: 'unknown'; how?: string }

/** What is known after a send: the provider's id and anything worth keeping. `data.suppressed`: why nothing was sent, and never will be. */
export type Receipt = { id: string; data?: Json }

/** What every transport needs. */
export type TransportDeps = {
  /** The gateway's name. */
  gateway: string
  /**
   * Resolves when the message is durable; only then may the transport acknowledge upstream. Rejects with
   * `store_unavailable` or `overloaded`: then it must refuse, so that upstream tries again.
   */
  accept(message: NewMessage): Promise<Accepted>
  /** The same for messages that came as one: all are taken in one atomic step, or none. */
  acceptAll(messages: readonly NewMessage[]): Promise<Accepted[]>
  http: PublicHttp
  replies: ReplyLog
  artifacts: Artifacts
  kv: KeyValues
  leases: Leases
  /** Resolves with how the dispatch of a message ended, or undefined at the timeout. For `respond: result`. */
  settled(messageId: string, timeout: number): Promise<'done' | 'failed' | 'unrouted' | undefined>
  log: Log
  now(): number
  /** Writes into the history of a message what became of its reply later: a bounce, an edit. Never throws. */
  note(messageId: string, what: string, detail: JsonObject): void
  /** Counts what was refused, by reason (`trivium_refused_total`), and lists it for `refused`. `accept` tells its own. */
  refused(reason: string, what?: Refused): void
}

/** What is known of something that was refused: where it came from, why in words, and what was sent. */
export type Refused = { from?: string | undefined; why?: string; body?: string | Buffer | undefined }

/** The public listener, shared by all gateways. */
export type PublicHttp = {
  /**
   * Returns the function that takes it away; throws `config_invalid` where the path is taken. What the handler throws, or
   * rejects with, is the answer, beside the headers that it has set, and is logged at a bounded rate.
   */
  mount(path: string, handler: RequestHandler): () => void
  /**
   * Reads a body whole; a handler calls it before it waits for anything. Rejects with `body_too_large` over `limit` bytes, and with `overloaded` while the unfinished
   * bodies of all senders take up too much. Never settles where the sender breaks off.
   */
  readBody(request: IncomingMessage, limit: number, gateway: string): Promise<Buffer>
  /** How it is reached from outside, where `public-url` says so. */
  publicUrl?(): string | undefined
  /** Whether only this machine reaches it. Then no web page may use what lets in anybody. */
  isLocal: boolean
  /** What the handler throws, or rejects with, is the answer; then there is no upgrade. */
  upgrade(path: string, handler: UpgradeHandler): () => void
}

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void>

/** Replies of each conversation, numbered from 1, on the store: any daemon appends, whoever has the connection reads. */
export type ReplyLog = {
  /** Keeps what the reply says; the same key is appended once. */
  append(conversation: string, reply: Reply): Promise<Receipt>
  read(conversation: string, after: number, max: number): Promise<{ seq: number; data: JsonObject }[]>
  end(conversation: string): Promise<number>
  onAppend(conversation: string, listener: () => void): () => void
}

/** Large things by content hash, under `<data dir>/artifacts/`; any daemon of the store opens what another saved. */
export type Artifacts = {
  /** Durable when it resolves. Throws `artifact_too_large` over `limit` bytes, `store_unavailable`. */
  save(name: string, type: string, body: Readable | Uint8Array, limit: number): Promise<Attachment>
  /** Throws `artifact_not_found`, `store_unavailable`. */
  open(sha256: string): Promise<Readable>
}
