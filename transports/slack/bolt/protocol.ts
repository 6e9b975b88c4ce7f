import type { AuthorizeSourceData } from '@slack/bolt'
import type { JsonObject } from '../../../src/core/json.ts'

/** What the thread of a Bolt app starts with. */
export type ThreadData = {
  file: string
  apiUrl: string
  /** How often Slack has repeated what listeners hear for the first time, where the transport tells: over a socket. */
  retryNum?: number
  /** Who the bot is where the gateway has one workspace; with several the daemon authorizes each event. */
  identity?: { token: string; botId: string; botUserId: string }
}

/** What the daemon says to the thread; all that it says in a turn goes in one array. */
export type ToThread =
  /** Run the listeners for a payload. `urls`: response URLs by which they may answer. `acks`: what they acknowledge is asked for. */
  | { kind: 'process'; id: number; payload: JsonObject; urls: string[]; acks: boolean }
  /** Nobody waits for this run any more: its calls of Slack fail from now on. */
  | { kind: 'abort'; id: number }
  /** The answer to an `Ask`. */
  | { kind: 'answer'; id: number; value: unknown; error?: never }
  | { kind: 'answer'; id: number; error: Told }

/** What the thread says to the daemon, in arrays as well. `ready`: the app is loaded. `done`: a run has ended, and how. */
export type FromThread =
  | { kind: 'ready' }
  | { kind: 'failed'; error: Told }
  | { kind: 'done'; id: number; error?: Told }
  | { kind: 'log'; level: LogLevelName; text: string; error?: Told }
  | { kind: 'ask'; id: number; ask: Ask }

export type LogLevelName = 'debug' | 'info' | 'warn' | 'error'

/** What the thread needs of the daemon; each gets an answer. */
export type Ask =
  | { what: 'ack'; run: number; response: unknown }
  | { what: 'authorize'; source: AuthorizeSourceData<boolean> }
  | { what: 'call'; run: number; url: string; init: CallInit }

/** A request to Slack, and its response, as they pass between threads. */
export type CallInit = { method: string; headers: [string, string][]; body?: string | Uint8Array }
export type CallAnswer = { status: number; headers: [string, string][]; body: Uint8Array }

/** An error as it passes between threads. */
export type Told = { message: string; stack?: string }
