import { z } from 'zod'

/**
 * Problems of an installation that need attention. The names are contract: alerts and `notify:` use
 * them.
 */
export const TROUBLES = [
  'store-down',
  'disk-low',
  'shards-away',
  'draining',
  'configuration',
  'gateway-down',
  'queue-down',
  'mcp-down',
  'subscription-down',
  'subscription-errors',
  'subscription-paused',
  'dead-letters',
  'messages-lost',
  'backlog',
  'retrying',
  'attempt-hangs',
  'refusals',
  'schedule-failed',
  'approval-waiting',
  'unanswered',
  'budget',
  'group-lag',
  'group-stalled',
  'unrouted',
  'skill-broken',
  'paused',
] as const

const where = z
  .object({
    gateway: z.string(),
    subscription: z.string(),
    queue: z.string(),
    schedule: z.string(),
    skill: z.string(),
    server: z.string(),
    topic: z.string(),
    group: z.string(),
    road: z.string(),
    reason: z.string(),
    messageId: z.string(),
    code: z.string(),
    pattern: z.string(),
  })
  .partial()

/** One entry of the list of troubles. `key` is stable for as long as the trouble lasts. */
const troubleSchema = z.object({
  id: z.string().describe('Short form of the key, for `trouble-acknowledge`.'),
  key: z.string(),
  code: z.enum(TROUBLES),
  severity: z
    .enum(['error', 'warning', 'info'])
    .describe('error: messages are lost, refused or stuck. warning: needs attention. info: intended state.'),
  title: z.string().describe('Title.'),
  text: z.string().describe('Details.'),
  todo: z.string().describe('What to do about it.'),
  where,
  count: z.int().describe('Number of affected messages, requests or runs.'),
  since: z.number().exactOptional().describe('Start, if known (Unix ms).'),
  people: z.int().exactOptional().describe('Number of people who wait because of it, if any are known.'),
  acknowledged: z
    .object({
      at: z.number(),
      by: z.string(),
      reason: z.string().exactOptional(),
      until: z.number().exactOptional(),
    })
    .exactOptional()
    .describe('Who takes care of it, since when and how. Without `until`, it lasts as long as the trouble.'),
})

export type Trouble = z.infer<typeof troubleSchema>

/**
 * Result of `troubles`: first those for which people wait, then errors, and last those that somebody
 * takes care of.
 */
export const troublesSchema = z.object({ at: z.number(), troubles: z.array(troubleSchema) })
