import { z } from 'zod'
import { toJson } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { withUnknownFields } from '../../core/stored-entries.ts'
import { DAY } from '../../core/units.ts'
import { updateKv } from '../../core/update-kv.ts'
import { defined } from '../../lib/defined.ts'
import { headOf } from '../../lib/head-of.ts'
import type { ScheduleKey } from './about.ts'
import { lateBecauseSchema } from './late-because.ts'

/** Times are Unix ms. */
const runSchema = z.object({
  /** The planned time. For a run that somebody started: when they did so. */
  planned: z.number(),
  /** The start of the first attempt. */
  startedAt: z.number(),
  endedAt: z.number().exactOptional(),
  outcome: z.enum(['running', 'retrying', 'done', 'failed']),
  /** Why the last attempt failed. */
  error: z.string().exactOptional(),
  /** The beginning of what the skill returned, as text. Only the newest runs keep it. */
  result: z.string().exactOptional(),
  /** Whether somebody started the run. */
  manual: z.literal(true).exactOptional(),
  /** Of a run that somebody started: the end of its key, and who did so. */
  key: z.string().exactOptional(),
  by: z.string().exactOptional(),
  /** Why the run began late, if that is known. */
  lateBecause: lateBecauseSchema.exactOptional(),
})
export type RunReport = z.infer<typeof runSchema>

/** The newest run, and those before it, newest first. */
const reportSchema = runSchema.extend({ earlier: z.array(runSchema).default([]) })

/** How long (ms) a report is kept: longer than the pause between two yearly runs. */
const RETENTION = 400 * DAY
/** Maximum number of runs in a report. */
export const MAX_RUNS = 50
/** Maximum characters of an error. */
const MAX_ERROR = 200
/** Maximum characters of a result. */
const MAX_RESULT = 2_000
/** Number of runs that keep their result: a report is rewritten in each run, so it stays small. */
const MAX_RESULTS = 10

/** The newest runs of each schedule, in the store. */
export function createRunReports(kv: KeyValues, now: () => number) {
  const keyOf = ({ id, created }: ScheduleKey) => `schedule-report:${id}:${created}`
  const readRuns = async (schedule: ScheduleKey): Promise<RunReport[]> =>
    runsIn((await kv.get(keyOf(schedule)))?.value)
  return {
    /** The newest run. */
    read: async (schedule: ScheduleKey): Promise<RunReport | undefined> => (await readRuns(schedule))[0],
    /** The newest runs, newest first. */
    readRuns,
    report: (schedule: ScheduleKey, run: RunState) =>
      updateKv(kv, keyOf(schedule), (current) => {
        const [newest, ...earlier] = withRun(runsIn(current), run, now())
        const known = reportSchema.safeParse(current).data
        const next = { ...newest, ...(earlier.length > 0 && { earlier }) }
        const isSame = known?.planned === newest?.planned
        const value = isSame ? withUnknownFields(next, current, known) : toJson(next)
        return { value, ttl: RETENTION }
      }),
    forget: (schedule: ScheduleKey) => kv.delete(keyOf(schedule)),
  }
}

/** The current state of a run. */
export type RunState = Omit<RunReport, 'startedAt' | 'endedAt'>

function runsIn(stored: unknown): RunReport[] {
  const { data } = reportSchema.safeParse(stored)
  if (!data) return []
  const { earlier, ...newest } = data
  return [newest, ...earlier]
}

/** The runs, newest first, with the current state of one of them. */
function withRun(runs: readonly RunReport[], { planned, outcome, ...state }: RunState, now: number) {
  const before = runs.find((run) => run.planned === planned)
  const startedAt = before?.startedAt ?? now
  const endedAt = outcome === 'running' ? undefined : now
  const { error: wholeError, result: wholeResult, ...rest } = state
  const error = wholeError?.slice(0, MAX_ERROR)
  const result = wholeResult === undefined ? undefined : headOf(wholeResult, MAX_RESULT)
  const lateBecause = rest.lateBecause ?? before?.lateBecause
  const run: RunReport = {
    ...rest,
    planned,
    startedAt,
    outcome,
    ...defined({ endedAt, error, result, lateBecause }),
  }
  return [run, ...runs.filter((each) => each !== before)]
    .sort((a, b) => b.planned - a.planned)
    .slice(0, MAX_RUNS)
    .map((each, index) => (index < MAX_RESULTS ? each : withoutResult(each)))
}

/** A run without its result, which is long. */
export function withoutResult<T extends object>(run: T & { result?: string }): Omit<T, 'result'> {
  const { result: _, ...rest } = run
  return rest
}
