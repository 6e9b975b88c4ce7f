import { z } from 'zod'
import { objectAt, textAt } from '../../../src/core/json.ts'
import type { Delivery } from '../inbound/delivery.ts'

/** A channel in which somebody wrote. Times are Slack's: seconds with six decimals, the ids of messages too. */
export const channelSchema = z.object({
  team: z.string(),
  channel: z.string(),
  /** Whether Slack delivers all messages of the channel here, or only those that mention the bot. */
  all: z.boolean(),
  /** Whether Slack tells of mentions there by `app_mention` too. */
  mentions: z.boolean().default(false),
  /** Nothing before it was ever our business. */
  first: z.number().default(0),
  /** Roots of threads, and when each was last written in. */
  active: z.record(z.string(), z.number()).default({}),
})

export type Channel = z.infer<typeof channelSchema>

/** Something may be missing in a channel. */
export type Gap = {
  channel: Channel
  /** Everything before was taken (Slack's seconds). */
  since: number
  /** Since when the gap can be read (Unix ms): from here is counted how far back `fill-gaps` reaches. */
  opened: number
  failures: number
  /** Why the last attempt failed. */
  failing?: string
}

/** What a message tells of its channel; undefined for all but what people write: only that can be read back. */
export function writtenIn({ payload, workspace: { team } }: Delivery): Channel | undefined {
  const event = objectAt(payload, 'event')
  if (event.type !== 'message' && event.type !== 'app_mention') return undefined
  if (event.subtype === 'message_changed' || event.subtype === 'message_deleted') return undefined
  const [channel, ts, root = ts] = ['channel', 'ts', 'thread_ts'].map((key) => textAt(event, key))
  const at = Number(ts)
  if (channel === undefined || root === undefined || Number.isNaN(at)) return undefined
  const kinds = { all: event.type === 'message', mentions: event.type === 'app_mention' }
  return { team, channel, ...kinds, first: at, active: { [root]: at } }
}

export function keyOf({ team, channel }: Pick<Channel, 'team' | 'channel'>): string {
  return `${team}/${channel}`
}
