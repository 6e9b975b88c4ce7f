import { z } from 'zod'
import type { Schedule } from '../../core/schedule.ts'
import type { KeyValues } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import type { Place } from './about.ts'

/** A schedule of routes.yaml. `at` becomes a cron expression with a single time. */
export type Planned = Pick<
  Schedule,
  'name' | 'cron' | 'every' | 'step' | 'timezone' | 'skill' | 'args' | 'misfire' | 'overlap'
>

/** Since when (ISO 8601) a schedule of the file counts, for these times. */
const begunSchema = z.object({ since: z.string(), times: z.string() })

const PREFIX = 'schedule-file:'
const MOST = 1000

/**
 * The schedules of routes.yaml. The file defines them, and the store keeps their start, so that all
 * daemons compute the same planned times. A change of its times restarts a schedule; a change of
 * its skill or arguments does not.
 */
export function createFileSchedules(deps: {
  kv: KeyValues
  /** The schedules of the current configuration; a new list after each reload. */
  planned(): readonly Planned[]
  /** Called for a schedule that was removed from the file (`isGone`), or whose times have changed. */
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
        // Another daemon was faster; the next round reads its value.
        if (written === undefined) continue
        if (data) await deps.ended({ id: schedule.name, created: data.since }, false)
      }
      found.push(asSchedule(schedule, since))
    }
    return found
  }

  /** Forgets schedules that were removed from the file. One that is added again starts anew. */
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
    /** The current list. A schedule that no round has seen yet counts from now. */
    list: () => list(false),
    /** The list for firing: starts new schedules, and forgets removed ones. */
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
