import type { Json } from './json.ts'

/** One entry of a message's history. */
export type Note = {
  /** Unix ms. */
  at: number
  /** The subject: a road, the sending of replies (`outbox`), or pushes of the message's event. */
  road: 'dispatch' | 'receive' | 'outbox' | 'push'
  /** What happened: `failed`, `approved`, `taken`. */
  what: string
  detail?: Json
}
