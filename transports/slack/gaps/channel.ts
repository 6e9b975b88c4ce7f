import { z } from 'zod'
import { objectAt, textAt } from '../../../src/core/json.ts'
import type { Delivery } from '../inbound/delivery.ts'

/**
 * A channel with messages. Times are Slack timestamps: seconds with six decimals, which are also
 * message ids.
 */
export const channelSchema = z.object({
  team: z.string(),
  channel: z.string(),
  /**
   * Whether Slack delivers all messages of the channel here, or only those that mention the bot.
   */
  all: z.boolean(),
  /**
   * The `channel_type` of its messages: `channel`, `group`, `im` or `mpim`. Older records lack it.
   */
  type: z.string().optional(),
  /** Whether other workspaces share it (Slack Connect). Older records lack it. */
  shared: z.boolean().optional(),
  /** Whether Slack also sends mentions there as `app_mention`. */
  mentions: z.boolean().default(false),
  /** The first message that was received; earlier ones are not read back. */
  first: z.number().default(0),
  /** The roots of threads, with the time of the last message in each. */
  active: z.record(z.string(), z.number()).default({}),
})

export type Channel = z.infer<typeof channelSchema>

/** A channel in which messages may be missing. */
export type Gap = {
  channel: Channel
  /** All earlier messages were received (Slack timestamp). */
  since: number
  /** When the gap was found (Unix ms). The limit of `fill-gaps` counts from here. */
  openedAt: number
  failures: number
  /** Why the last attempt failed. */
  lastError?: string
}

/** The channel of a post, as far as the post shows it. Undefined for payloads that are no posts. */
export function channelOf({ payload, workspace: { team } }: Delivery): Channel | undefined {
  const event = objectAt(payload, 'event')
  if (event.type !== 'message' && event.type !== 'app_mention') return undefined
  if (event.subtype === 'message_changed' || event.subtype === 'message_deleted') return undefined
  const channel = textAt(event, 'channel')
  const ts = textAt(event, 'ts')
  const root = textAt(event, 'thread_ts') ?? ts
  const at = Number(ts)
  if (channel === undefined || root === undefined || Number.isNaN(at)) return undefined
  const type = textAt(event, 'channel_type')
  const kinds = { all: event.type === 'message', mentions: event.type === 'app_mention' }
  const given = payload.is_ext_shared_channel
  const shared = typeof given === 'boolean' ? given : undefined
  return { team, channel, ...kinds, type, shared, first: at, active: { [root]: at } }
}

/** Identifies a channel over all workspaces. */
export function keyOf({ team, channel }: Pick<Channel, 'team' | 'channel'>): string {
  return `${team}/${channel}`
}
