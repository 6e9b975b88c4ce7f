import type { KeyObject } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Json } from '../../src/core/json.ts'
import type { Scheme, Signed } from '../../src/lib/signatures.ts'
import type { Pointers } from './pointers.ts'
import type { Split } from './split-presets.ts'

/**
 * What is said of a delivery that was taken; `reply` is that of the skill, with `respond: result`. `ids`: of one that became several
 * messages; then `duplicate` says that all were there, and `duplicates` how many.
 */
export type Taken = { id?: string; ids?: string[]; duplicate?: boolean; duplicates?: number; reply?: string }

/** An answer in the words of a provider. */
export type Answer = { status: number; type?: string; text?: string }

/** What a provider does its own way. It proves its deliveries by one of `signature`, `header` and `inBody`. */
export type Preset = {
  /** A delivery has one of these: the first whose header it carries. */
  signature?: readonly Scheme[]
  /** What checks signatures, from the secret as the provider shows it. Throws for anything else. */
  keyOf?(secret: string): Buffer | KeyObject
  /** The request as the provider may have signed it, where that differs from how it came: any of these is good. */
  claims?(request: Signed): Signed[]
  /** Whether the address that is signed is followed by the form, or has the hash of the body in it. */
  isBodyInUrl?: boolean
  header?: string
  /** The field with the secret, in each item of the list `value` of the body. */
  inBody?: string
  /** The id of a delivery that stays the same when the provider tries again; one that is signed comes first. */
  key?: Pointers
  event?: Pointers
  from?: Pointers
  /** What is handled in order. */
  conversation?: Pointers
  /** How it becomes several messages, unless the gateway waits for a result. */
  split?: Split
  /** What proves to whoever asks that we listen, before any other proof. A text says why the request is refused. */
  greet?(method: string, query: URLSearchParams, own: Own): Answer | string | undefined
  /** The same where the provider proves itself first. There is nothing to accept. */
  handshake?(body: Json | undefined, own: Own, headers: IncomingHttpHeaders): Answer | undefined
  /** How the provider wants to hear that a delivery was taken. */
  answer?(taken: Taken, body: Json | undefined): Answer
}

/** What a preset uses of the options of its gateway. */
export type Own = { secret: string[]; 'verify-token'?: string }

/** 200 and JSON, where a provider takes no other status for success. */
export function json(value: object): Answer {
  return { status: 200, type: 'application/json', text: JSON.stringify(value) }
}

export function plain(text: string): Answer {
  return { status: 200, type: 'text/plain', text }
}
