import type { Json } from './json.ts'

/** One entry of a message's history: time, road and event. */
export type Note = {
  at: number
  road: 'dispatch' | 'receive' | 'outbox' | 'push'
  what: string
  detail?: Json
}
