import { z } from 'zod'
import { TriviumError } from '../core/errors.ts'
import { type Json, type JsonObject, toJson } from '../core/json.ts'
import type { LongJob } from '../core/long-job.ts'
import { matchSchema } from '../core/match.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import type { WorkKind } from './long-work.ts'
import { type EventQueue, queuedEvents } from './queued-events.ts'
import { createPageReader, type WantedPage } from './replay-pages.ts'
import { chunksOf, createWithdrawnEvents, withdrawalKey } from './withdrawn-events.ts'

export const KIND = 'replay'

const dataSchema = z.object({
  topic: z.string(),
  group: z.string(),
  match: matchSchema.exactOptional(),
  /** The ids of the events that are replayed; by default all of the range. */
  only: z.array(z.string()).exactOptional(),
  /** Per partition: the last position that is done, and the last one of the range. */
  parts: z.array(z.object({ after: z.number(), last: z.number() })),
  /** Number of redelivered events. Stored jobs have this name. */
  shown: z.number(),
  /** Number of events of the range that the group had not read when the replay came to them. */
  unread: z.number().default(0),
  /** Number of events of the range that wait as jobs already. They are left out. */
  queued: z.number().default(0),
  /** Number of events that the filter left out. */
  filtered: z.number().default(0),
  /** Number of events of the range that were erased or removed by retention since it began. */
  gone: z.number().default(0),
  /** The last event that was examined, if the topic has one partition. */
  lastEvent: z.string().exactOptional(),
  /**
   * Identifies this replay in the store, so that a step that is repeated after a crash does not
   * redeliver twice. The time at which the replay began; 1 for jobs of older versions.
   */
  round: z.number().default(1),
})
export type Data = z.infer<typeof dataSchema>
type Topics = Store['topics']

function resultOf({ shown, unread, queued, filtered, gone }: Data) {
  return {
    events: shown,
    unread,
    ...(queued > 0 && { queued }),
    ...(filtered > 0 && { filtered }),
    ...(gone > 0 && { gone }),
  }
}

/**
 * The work of a replay. `queueOf`: where the events of a group wait as jobs, if they do. `withdraw`:
 * takes its events back; `last` has the last positions of its range.
 */
export function replayKind(
  store: Pick<Store, 'topics' | 'journal' | 'erasing' | 'kv'>,
  deps: {
    queueOf(topic: string, group: string): EventQueue
    withdraw(job: LongJob, last: readonly number[], signal: AbortSignal): Promise<JsonObject>
  },
): WorkKind {
  const { queueOf } = deps
  return {
    kind: KIND,
    withdraw: (job, signal) => {
      const { parts = [] } = dataSchema.safeParse(job.data).data ?? {}
      return deps.withdraw(
        job,
        parts.map(({ last }) => last),
        signal,
      )
    },
    kept: (data) => toJson(dataSchema.parse(data)),
    async run(job, { save, signal }) {
      const data = dataSchema.parse(job.data)
      const { ids: queued } = await queuedEvents(store.erasing, queueOf(data.topic, data.group))
      const readPage = createPageReader(store, data)
      const leaveOut = createLeavingOut(store, job.target, data)
      for (const [partition, part] of data.parts.entries()) {
        while (part.after < part.last) {
          signal.throwIfAborted()
          const page = await readPage(part, partition)
          const wanted = page.wanted.filter(({ event }) => !queued.has(event.id))
          const { redelivered, unread } = await redeliver(store.topics, data, { ...page, wanted })
          const rest = page.wanted.filter(({ event }) => queued.has(event.id))
          await leaveOut({ ...part, partition }, { wanted, unread, rest })
          part.after = page.last
          data.shown += redelivered
          data.unread += unread
          data.queued += page.wanted.length - wanted.length
          data.filtered += page.filtered
          if (page.lastId !== undefined && data.parts.length === 1) data.lastEvent = page.lastId
          await save({ data: toJson(data), done: Math.min(job.total, handledBy(data)) })
        }
      }
      data.gone = Math.max(0, job.total - handledBy(data))
      await save({ data: toJson(data), done: job.total })
      return resultOf(data)
    },
    soFar({ data }) {
      const known = dataSchema.parse(data)
      return { ...resultOf(known), ...defined({ lastEvent: known.lastEvent }) }
    },
  }
}

/**
 * Redelivers the wanted events of a page. `restore` does not change unread ones, which the group
 * gets anyway: they are subtracted from the number of redelivered events.
 */
async function redeliver(
  topics: Topics,
  { topic, group, round }: Pick<Data, 'topic' | 'group' | 'round'>,
  { wanted, unread }: Pick<WantedPage, 'wanted' | 'unread'>,
): Promise<{ redelivered: number; unread: number }> {
  const restored = await Promise.all(wanted.map(({ event }) => topics.restore(topic, group, event.id, round)))
  // Retention may have deleted an event, or somebody the group.
  if (!restored.every(Boolean)) await requireGroup(topics, topic, group)
  const existing = restored.filter(Boolean).length
  return { redelivered: Math.max(0, existing - unread), unread: Math.min(existing, unread) }
}

/**
 * Remembers the events of a page that a replay leaves out, so that its items are only those that it
 * redelivers: `rest`, and of the `wanted` ones the `unread`.
 */
function createLeavingOut(
  { topics, kv }: Pick<Store, 'topics' | 'kv'>,
  target: LongJob['target'],
  { topic, group, round }: Data,
) {
  const events = createWithdrawnEvents(kv, withdrawalKey(target), 'left-out')
  const chunkOf = chunksOf(topics, topic)
  return async (
    { after, partition }: { after: number; partition: number },
    { wanted, unread, rest }: { wanted: WantedPage['wanted']; unread: number; rest: WantedPage['wanted'] },
  ): Promise<void> => {
    const ids = rest.map(({ event }) => event.id)
    if (unread > 0) {
      const max = (wanted.at(-1)?.position ?? after) - after
      const read = { group, max, mode: 'peek', partition, after, withRounds: true } as const
      const [batch] = await topics.read(topic, [read])
      const known = new Set(wanted.map(({ event }) => event.id))
      const isLeft = (id: string, at: number) => known.has(id) && batch?.rounds?.[at] !== round
      ids.push(...(batch?.items ?? []).flatMap(({ id }, at) => (isLeft(id, at) ? id : [])))
    }
    if (ids.length > 0) await events.add(round, ids, chunkOf)
  }
}

/** The ids of the events that a replay selects, from the data of its job. Undefined: all of its range. */
export function selectedIn(data: Json | undefined): string[] | undefined {
  return dataSchema.safeParse(data).data?.only
}

/** The data of a job; undefined for those of older versions, which did not keep it. */
export function dataIn(data: Json | undefined): Data | undefined {
  return dataSchema.safeParse(data).data
}

/** The last position of each partition that a replay has examined, from the data of its job. */
export function reachedIn(data: Json | undefined): number[] {
  return dataSchema.safeParse(data).data?.parts.map(({ after }) => after) ?? []
}

/** Number of events that a replay has processed. */
function handledBy({ shown, unread, queued, filtered }: Data): number {
  return shown + unread + queued + filtered
}

/** Number of events in all parts, without erased ones. */
export async function eventsIn(topics: Topics, topic: string, parts: Data['parts']): Promise<number> {
  const counts = parts.map(async ({ after, last }, partition) =>
    last > after ? last - after - (await topics.erased(topic, { after, last, partition })) : 0,
  )
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
}

export async function requireGroup(topics: Topics, topic: string, group: string): Promise<void> {
  const [known] = await topics.read(topic, [{ group, max: 1, mode: 'peek' }])
  if (!known) throw new TriviumError('group_not_found', { group, topic })
}
