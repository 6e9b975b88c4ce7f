import type { AuthorizeSourceData } from '@slack/bolt'
import type { JsonObject } from '../../../src/core/json.ts'

/** Start data of a Bolt app's thread. */
export type ThreadData = {
  file: string
  apiUrl: string
  /** The retry number that listeners see: 0 with Socket Mode; otherwise Slack sends none. */
  retryNum?: number
  /** The bot's identity in a single workspace; with several, the daemon authorizes each event. */
  identity?: { token: string; botId: string; botUserId: string }
}

/** Messages from the daemon to the thread, batched per turn. */
export type ToThread =
  /**
   * Run the listeners for a payload. `urls`: response URLs that they may use. `needsAck`: report
   * the first call of `ack`.
   */
  | { kind: 'process'; id: number; payload: JsonObject; urls: string[]; needsAck: boolean }
  /** The run is no longer awaited: its Slack calls fail from now on. */
  | { kind: 'abort'; id: number }
  /** The answer to an `Ask`. */
  | { kind: 'answer'; id: number; value: unknown; error?: never }
  | { kind: 'answer'; id: number; error: ErrorData }

/** Messages from the thread to the daemon, also batched. */
export type FromThread =
  /** The app is loaded. */
  | { kind: 'ready' }
  | { kind: 'failed'; error: ErrorData }
  /**
   * The outcome of a run. `matched`: false if the listeners were reached, and none took the
   * payload.
   */
  | { kind: 'done'; id: number; matched?: boolean; error?: ErrorData }
  /** Something of the app works differently here. Sent once per text. */
  | { kind: 'warning'; text: string }
  | { kind: 'log'; level: LogLevelName; text: string; error?: ErrorData }
  | { kind: 'ask'; id: number; ask: Ask }

export type LogLevelName = 'debug' | 'info' | 'warn' | 'error'

/** Requests of the thread; each gets an answer. */
export type Ask =
  | { what: 'ack'; run: number; response: unknown }
  | { what: 'authorize'; source: AuthorizeSourceData<boolean> }
  | { what: 'call'; run: number; url: string; init: CallInit }

/** A request to Slack and its response, in transferable form. */
export type CallInit = { method: string; headers: [string, string][]; body?: string | Uint8Array }
export type CallAnswer = { status: number; headers: [string, string][]; body: Uint8Array }

/** An error in transferable form. */
export type ErrorData = { message: string; stack?: string }
