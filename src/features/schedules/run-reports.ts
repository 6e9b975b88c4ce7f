import { z } from 'zod'
import type { KeyValues } from '../../core/store.ts'
import { withUnknownFields } from '../../core/stored-entries.ts'
import { DAY } from '../../core/units.ts'
import { updateKv } from '../../core/update-kv.ts'
import { defined } from '../../lib/defined.ts'
import type { ScheduleKey } from './about.ts'

/** `startedAt`: of the first attempt. Times are Unix ms. */
const reportSchema = z.object({
  planned: z.number(),
  startedAt: z.number(),
  endedAt: z.number().exactOptional(),
  outcome: z.enum(['running', 'retrying', 'done', 'failed']),
})
type RunReport = z.infer<typeof reportSchema>

/** How long (ms) a report is kept: longer than the pause between two yearly runs. */
const RETENTION = 400 * DAY

/** The newest run of each schedule, in the store, for lists of schedules. */
export function createRunReports(kv: KeyValues, now: () => number) {
  const keyOf = ({ id, created }: ScheduleKey) => `schedule-report:${id}:${created}`
  return {
    read: async (schedule: ScheduleKey): Promise<RunReport | undefined> =>
      reportSchema.safeParse((await kv.get(keyOf(schedule)))?.value).data,
    /** A run that was planned before the reported one changes nothing. `planned`: Unix ms. */
    report: (schedule: ScheduleKey, planned: number, outcome: RunReport['outcome']) =>
      updateKv(kv, keyOf(schedule), (current) => {
        const known = reportSchema.safeParse(current).data
        if (known && known.planned > planned) return undefined
        const isSame = known?.planned === planned
        const startedAt = isSame ? known.startedAt : now()
        const endedAt = outcome === 'running' ? undefined : now()
        const next = { planned, startedAt, outcome, ...defined({ endedAt }) }
        return { value: isSame ? withUnknownFields(next, current, known) : next, ttl: RETENTION }
      }),
    forget: (schedule: ScheduleKey) => kv.delete(keyOf(schedule)),
  }
}
