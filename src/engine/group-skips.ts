import { z } from 'zod'
import { toJson } from '../core/json.ts'
import type { LongJob } from '../core/long-job.ts'
import { timeOf } from '../core/message-id.ts'
import type { Store } from '../core/store.ts'
import { DAY } from '../core/units.ts'
import { defined } from '../lib/defined.ts'

const PREFIX = 'group-skip:'
/** How long (ms) a record is kept: longer than most topics keep the events that a replay brings back. */
const RETENTION_MS = 30 * DAY
const recordSchema = z.object({
  at: z.number(),
  by: z.string(),
  count: z.number(),
  more: z.literal(true).exactOptional(),
  until: z.number().exactOptional(),
  firstAt: z.number().exactOptional(),
  lastAt: z.number().exactOptional(),
})

/**
 * The last skip of a group: when (Unix ms), by whom, of how many events (`more`: at least), published
 * from when to when, and until which time (Unix ms), if only a part was skipped. `replayed`: the newest
 * replay since then of all of these events, or of a part.
 */
export type GroupSkip = z.infer<typeof recordSchema> & {
  replayed?: { job: string; at: number; isPart?: true }
}

/** How a skip is noted. */
type Noted = { until: number | undefined } & Omit<z.infer<typeof recordSchema>, 'until'>

export type GroupSkips = ReturnType<typeof createGroupSkips>

/** The last skip of each group, in the store. */
export function createGroupSkips(kv: Store['kv'], replays: () => Promise<readonly LongJob[]>) {
  const keyOf = (topic: string, group: string) => `${PREFIX}${topic}\n${group}`
  return {
    async note(topic: string, group: string, skip: Noted) {
      await kv.set(keyOf(topic, group), toJson(defined({ ...skip })), { ttl: RETENTION_MS })
    },
    async of(topic: string, group: string): Promise<GroupSkip | undefined> {
      const skip = recordSchema.safeParse((await kv.get(keyOf(topic, group)))?.value).data
      if (!skip) return undefined
      const later = (await replays()).filter(
        ({ target, startedAt, state }) =>
          target.topic === topic && target.group === group && startedAt >= skip.at && state !== 'cancelled',
      )
      return { ...skip, ...defined({ replayed: replayOf(skip, later) }) }
    },
    /** Forgets the last skip, because the group reads its events again. */
    async forget(topic: string, group: string): Promise<void> {
      await kv.delete(keyOf(topic, group))
    },
  }
}

/** The replay of all skipped events, or else of a part of them. `later`: newest first. */
function replayOf(skip: GroupSkip, later: readonly LongJob[]): GroupSkip['replayed'] {
  const { firstAt = 0, lastAt = skip.until ?? skip.at } = skip
  const ranges = later.map((job) => ({ job: job.id, at: job.startedAt, ...rangeOf(job) }))
  const whole = ranges.find(({ since, until }) => since <= firstAt && until > lastAt)
  if (whole) return { job: whole.job, at: whole.at }
  const part = ranges.find(({ since, until }) => since <= lastAt && until > firstAt)
  return part && { job: part.job, at: part.at, isPart: true }
}

/** From when to when (Unix ms) the events of a replay were published. */
function rangeOf({ target: { since, until, from, to } }: LongJob): { since: number; until: number } {
  const begins = [timeAt(since), typeof from === 'string' ? timeOf(from) : undefined]
  const ends = [timeAt(until), typeof to === 'string' ? timeOf(to) + 1 : undefined]
  return {
    since: Math.max(0, ...begins.filter((time) => time !== undefined)),
    until: Math.min(Number.POSITIVE_INFINITY, ...ends.filter((time) => time !== undefined)),
  }
}

function timeAt(iso: unknown): number | undefined {
  return typeof iso === 'string' ? Date.parse(iso) : undefined
}
