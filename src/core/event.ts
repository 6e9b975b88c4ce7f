import type { Json } from './json.ts'

/** The topic on which every inbound message is visible as an event. It is a view of the journal. */
export const MESSAGE_TOPIC = 'gateway-message'

/** How the topics begin in which gateways keep their replies. Nobody reads or writes them through `event-*`. */
export const REPLY_TOPICS = 'replies/'

/** The topic of what daemons on one Redis write into their logs, for all of them to copy. As closed as replies. */
export const LOG_TOPIC = 'trivium/log'

/** One event on a topic. */
export type Event = {
  /** UUIDv7. For `gateway-message` it is the id of the message. */
  id: string
  topic: string
  /** For `gateway-message`: the transport. `gap` tells how many events a group missed: `data.missed`. */
  type: string
  /** For `gateway-message`: the gateway's name. Else who published it: a skill, a gateway, `token:NAME`, `cli`, `http`. */
  source: string
  data: Json
  /** Unix time in milliseconds. */
  timestamp: number
  /** The invocation that emitted it, where there is one. */
  rootContextId?: string
}

/** What `publish` takes; the store gives the id. With `key`, the same key within 7 days is published once. */
export type NewEvent = Omit<Event, 'id' | 'topic' | 'timestamp'> & { timestamp?: number; key?: string }
