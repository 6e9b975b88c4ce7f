import { z } from 'zod'
import type { Schedule } from '../../core/schedule.ts'
import type { KeyValues } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import type { Place } from './about.ts'

/** A schedule as routes.yaml has it; `at` is a cron of one moment. */
export type Planned = Pick<
  Schedule,
  'name' | 'cron' | 'every' | 'step' | 'timezone' | 'skill' | 'args' | 'misfire' | 'overlap'
>

/** Since when (ISO 8601) a schedule of the file counts at these times. */
const begunSchema = z.object({ since: z.string(), times: z.string() })

const PREFIX = 'schedule-file:'
const MOST = 1000

/**
 * The schedules of routes.yaml. Their definition is the file's; the store has since when each counts, so that every daemon computes the
 * same planned times, a change of its times begins anew, and a change of its skill or arguments does not.
 */
export function createFileSchedules(deps: {
  kv: KeyValues
  /** Those of the configuration in force; a new list after each reload. */
  planned(): readonly Planned[]
  /** Called for one that is over: it left the file, or its times have changed. */
  ended(schedule: Place, isGone: boolean): Promise<unknown>
  now(): number
}) {
  const { kv, planned } = deps
  let cleaned: readonly Planned[] | undefined

  const begun = async (name: string) => {
    const entry = await kv.get(PREFIX + name)
    const { data } = begunSchema.safeParse(entry?.value)
    return { data, version: entry?.version ?? 0 }
  }

  const list = async (isWriting: boolean): Promise<Schedule[]> => {
    const found: Schedule[] = []
    for (const schedule of planned()) {
      const times = timesOf(schedule)
      const { data, version } = await begun(schedule.name)
      const isSame = data?.times === times
      const since = isSame ? data.since : new Date(deps.now()).toISOString()
      if (!isSame && isWriting) {
        const written = await kv.set(PREFIX + schedule.name, { since, times }, { ifVersion: version })
        // Another daemon was faster; the next round reads what it wrote.
        if (written === undefined) continue
        if (data) await deps.ended({ id: schedule.name, created: data.since }, false)
      }
      found.push(asSchedule(schedule, since))
    }
    return found
  }

  /** Forgets those that left the file: one that comes back later begins anew. */
  const clean = async () => {
    const current = planned()
    if (cleaned === current) return
    for (const key of await kv.list(PREFIX, MOST)) {
      const id = key.slice(PREFIX.length)
      if (current.some(({ name }) => name === id)) continue
      const { data } = await begun(id)
      if (data) await deps.ended({ id, created: data.since }, true)
      await kv.delete(key)
    }
    cleaned = current
  }

  return {
    has: (id: string) => planned().some(({ name }) => name === id),
    /** As they stand. One that no round has seen yet counts from now on. */
    list: () => list(false),
    /** The same for whoever fires them: what is new begins, what is gone is forgotten. */
    async begin(): Promise<Schedule[]> {
      await clean()
      return list(true)
    },
  }
}

function timesOf({ cron = '', every = 0, step = '', timezone }: Planned): string {
  return JSON.stringify([cron, every, step, timezone])
}

function asSchedule(planned: Planned, created: string): Schedule {
  const { name, cron, every, step, timezone, skill, args, misfire, overlap } = planned
  return {
    id: name,
    name,
    ...defined({ cron, every, step, overlap }),
    timezone,
    skill,
    args,
    misfire,
    channel: 'routes.yaml',
    source: 'routes.yaml',
    created,
  }
}
