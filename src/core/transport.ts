import type { ZodType } from 'zod'
import type { Json, JsonObject } from './json.ts'
import type { Message } from './message.ts'
import type { Part } from './parts.ts'
import type { Probed, Receipt, Reply, ReplyPiece, ReplyPlace } from './reply.ts'
import type { TransportDeps } from './transport-deps.ts'

export * from './reply.ts'
export type * from './transport-deps.ts'

/**
 * A kind of transport: a folder in `transports/` and a line in the registry there. `Host`: what the
 * kind needs from the daemon beyond `TransportDeps`, declared in its `host.ts`.
 */
export type TransportKind<Options = unknown, Host = unknown> = {
  kind: string
  /** Strict schema of the gateway keys of this kind. */
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
   * Why later sends to the same place fail too, and what to do, by the error of a send that failed
   * permanently; undefined if the error says nothing about later sends.
   */
  unreachable?(error: string): string | undefined
  /**
   * Whether a person waits for the reaction of a Bolt app, so that the message must not queue
   * behind earlier ones of its conversation.
   */
  isUrgent?(message: Message): boolean
  /** Tests whether a Bolt app can be loaded, and ends it. Throws `part_missing`. */
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
  severalTargets?: true
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
   * Runs the listeners of a Bolt app for a message. Resolves with the reason if none matched.
   * Rejects with their error, and soon after `signal` aborts or `timeout` ms pass.
   */
  runListeners?(
    file: string,
    to: { message: Message; route: string; signal: AbortSignal; timeout: number },
  ): Promise<{ noReply: string } | undefined>
  /**
   * Present if workspaces install the app themselves (OAuth). Absent if routes.yaml has its tokens.
   */
  installs?:
    | {
        list(): Promise<Install[]>
        /**
         * Removes an installation and, if the provider can be reached, revokes its tokens. Returns
         * false if the workspace has not installed the app.
         */
        remove(team: string): Promise<boolean>
      }
    | undefined
  /** False if senders connect to the gateway: a restart cannot repair anything. Default: true. */
  hasConnection?: boolean
  /**
   * Checks refused deliveries with another secret: the one with this id, or else the newest. Throws
   * `refused_gone` if it is no longer kept.
   */
  tryRefused?(what: { id?: string | undefined; secret: string }): Promise<RefusedTry>
  /**
   * Checks all kept refused deliveries with the configuration of this gateway. Undefined if none is
   * kept, or its check has no secret.
   */
  recheckRefused?(): Promise<KeptFits | undefined>
  /**
   * The event name (`data.event`) and the conversation of a delivery with this text and these
   * headers, as far as it has them.
   */
  fieldsOf?(given: { text: string; headers: JsonObject }): { event?: string; conversation?: string }
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
  /** Values that become metrics. */
  gauges?: {
    /** Open upstream connections as reported by upstream; 0 if this gateway lost its own. */
    connections?: number
    /** Seconds since the last event, or since the start. */
    secondsSinceEvent?: number
  }
}

export type Check = {
  name: string
  ok: boolean
  /** The check has passed, but an operator should know the detail. */
  warning?: boolean
  detail: string
}

/** How many of the `tried` refused deliveries that are kept would be accepted. */
export type KeptFits = { fits: number; tried: number }

/**
 * Result of `tryRefused`. `fits`: those that the secret fits. `isTrimmed`: of the secret without the
 * blanks around it. `isInForce`: the gateway has it already.
 */
export type RefusedTry = KeptFits & {
  isTrimmed?: true
  isInForce?: true
  /** Whether the secret fits the delivery. */
  ok: boolean
  reason?: string
  /** When the delivery arrived (Unix ms). */
  at: number
}
