import { putLast } from '../../lib/put-last.ts'
import type { ScheduleKey } from './about.ts'
import type { LateBecause } from './late-because.ts'
import type { RunReport } from './run-reports.ts'

/** A run that begins within this time (ms) after its planned time is not late. */
const LATE_AFTER = 30_000
/** A run begins within this time (ms) after the end of what delayed it. */
const RESPONSE = 30_000
/** Maximum number of held runs that are remembered. */
const MAX_HELD = 1_000

/** Finds out why runs began late. `startedAt`: the start of the daemon (Unix ms). */
export function createLateness(deps: {
  startedAt: number
  readRuns(schedule: ScheduleKey): Promise<readonly RunReport[]>
  now(): number
}) {
  const { startedAt, now } = deps
  /** When the run with a key was last held, because its skill was paused. */
  const held = new Map<string, number>()
  return {
    /** Called while a run is held because its skill is paused. */
    held: (key: string) => putLast(held, key, now(), MAX_HELD),
    /** Why the run with this key begins only now. Undefined if it is in time, or if unknown. */
    async of(schedule: ScheduleKey, key: string, planned: number): Promise<LateBecause | undefined> {
      const heldAt = held.get(key)
      held.delete(key)
      if (now() - planned < LATE_AFTER) return undefined
      if (heldAt !== undefined) return { cause: 'skill_paused', until: now() }
      const isRecent = (time: number) => time > planned && now() - time < RESPONSE
      const ends = (await deps.readRuns(schedule))
        .filter((run) => run.planned < planned)
        .map(({ endedAt = 0 }) => endedAt)
      const end = Math.max(0, ...ends)
      if (isRecent(end)) return { cause: 'previous_run', until: end }
      return isRecent(startedAt) ? { cause: 'daemon_start', until: startedAt } : undefined
    },
  }
}
