import { z } from 'zod'
import { allKeys } from '../../core/all-keys.ts'
import type { Schedule } from '../../core/schedule.ts'
import type { KeyValues } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import type { ScheduleKey } from './about.ts'

/** A schedule of routes.yaml. Its `at` has become a cron expression with a single time. */
export type FileSchedule = Pick<
  Schedule,
  'name' | 'cron' | 'every' | 'step' | 'timezone' | 'skill' | 'args' | 'misfire' | 'overlap'
>

/** The start of a schedule of the file. */
const startSchema = z.object({
  /** When it started (ISO 8601). */
  since: z.string(),
  /** Its rule at the start, as of `ruleOf`. */
  times: z.string(),
})

const PREFIX = 'schedule-file:'

/**
 * The schedules of routes.yaml. The file defines them, and the store keeps their start, so that all
 * daemons compute the same planned times. A schedule restarts when its rule changes, and not when
 * its skill or arguments do.
 */
export function createFileSchedules(deps: {
  kv: KeyValues
  /** The schedules of the current configuration; a new list after each reload. */
  ofFile(): readonly FileSchedule[]
  /**
   * Called for a schedule that was removed from the file (`isGone`), or whose rule has changed.
   */
  ended(schedule: ScheduleKey, isGone: boolean): Promise<unknown>
  now(): number
}) {
  const { kv, ofFile } = deps
  /** The list of the file at the last clean-up: see `clean`. */
  let cleanedFor: readonly FileSchedule[] | undefined

  const readStart = async (name: string) => {
    const entry = await kv.get(PREFIX + name)
    const { data } = startSchema.safeParse(entry?.value)
    return { data, version: entry?.version ?? 0 }
  }

  /** With `starts`, stores the start of schedules that are new or have a new rule. */
  const list = async ({ starts }: { starts: boolean }): Promise<Schedule[]> => {
    const found: Schedule[] = []
    for (const schedule of ofFile()) {
      const rule = ruleOf(schedule)
      const { data, version } = await readStart(schedule.name)
      const isSame = data?.times === rule
      const since = isSame ? data.since : new Date(deps.now()).toISOString()
      if (!isSame && starts) {
        const written = await kv.set(PREFIX + schedule.name, { since, times: rule }, { ifVersion: version })
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
    const current = ofFile()
    if (cleanedFor === current) return
    for (const key of await allKeys(kv, PREFIX)) {
      const id = key.slice(PREFIX.length)
      if (current.some(({ name }) => name === id)) continue
      const { data } = await readStart(id)
      if (data) await deps.ended({ id, created: data.since }, true)
      await kv.delete(key)
    }
    cleanedFor = current
  }

  return {
    has: (id: string) => ofFile().some(({ name }) => name === id),
    /** The current list. A schedule that `startAndList` has not seen yet starts now. */
    list: () => list({ starts: false }),
    /** The list for firing: starts new schedules, and forgets removed ones. */
    async startAndList(): Promise<Schedule[]> {
      await clean()
      return list({ starts: true })
    },
  }
}

/** What determines the planned times of a schedule. */
function ruleOf({ cron = '', every = 0, step = '', timezone }: FileSchedule): string {
  return JSON.stringify([cron, every, step, timezone])
}

function asSchedule(schedule: FileSchedule, created: string): Schedule {
  const { name, cron, every, step, timezone, skill, args, misfire, overlap } = schedule
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
