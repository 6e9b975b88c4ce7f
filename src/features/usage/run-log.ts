import { z } from 'zod'
import { allKeys } from '../../core/all-keys.ts'
import { isJsonObject, type Json, type JsonObject, toJson } from '../../core/json.ts'
import { type Addition, createOnceWrites } from '../../core/once-writes.ts'
import type { KeyValues } from '../../core/store.ts'
import { readStoredList, readStoredRecord } from '../../core/stored-entries.ts'
import { DAY } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import { addCount } from '../../lib/name-counts.ts'
import { addDuration, addDurations, noDurations } from '../../lib/run-histogram.ts'
import { dayOf } from './day.ts'
import { addCost, runCostSchema } from './run-costs.ts'
import { SLOT_RETENTION, type Span, slotOf, valuesOf } from './slots.ts'

const runSchema = z.object({
  /** End of the run (Unix ms). */
  at: z.number(),
  /** Duration (ms). */
  ms: z.number(),
  /**
   * The caller: `route refunds`, `schedule nightly`, `http token:worker`, `mcp …`, `cli …`, `skill
   * triage`.
   */
  by: z.string(),
  messageId: z.string().exactOptional(),
  /** In place of the message, if it was erased: its number among the erased ones. */
  erased: z.number().exactOptional(),
  /** The code of its error; absent after a success. */
  code: z.string().exactOptional(),
  /** The message of its error. */
  error: z.string().exactOptional(),
  /** Whether its message is a test. */
  test: z.literal(true).exactOptional(),
  /** What it used of models; absent if it used none. */
  cost: runCostSchema.exactOptional(),
})
/** One run of a skill. */
export type Run = z.infer<typeof runSchema>

/** The code of a run that a person cancelled. This is not a failure. */
export const CANCELLED = 'run_cancelled'

const countsSchema = z.object({
  runs: z.number(),
  failed: z.number(),
  cancelled: z.number().default(0),
  /** Runs of test messages, which count nowhere else. */
  tests: z.number().exactOptional(),
  durations: z.array(z.number()),
  // Earlier versions counted only buckets.
  parts: z.record(z.string(), z.number()).default({}),
  longest: z.number().exactOptional(),
  callers: z.record(z.string(), z.number()),
  /** The failed runs by caller. Earlier versions did not count them. */
  failedCallers: z.record(z.string(), z.number()).exactOptional(),
  /** What the runs that used a model cost, and their number. */
  cost: runCostSchema.extend({ runs: z.number() }).exactOptional(),
})
/** Counts of a skill's runs in a day or slot. */
export type RunCounts = z.infer<typeof countsSchema>
const readSlot = (value: Json | undefined) => readStoredRecord(countsSchema, value)
/** The runs of one skill. */
export type RunLog = {
  /** Newest first. */
  recent: Run[]
  /** The newest failed and cancelled runs, newest first. */
  failures: Run[]
  days: Record<string, RunCounts>
}

/** What is stored in the document of a skill; its failures have another one. */
type StoredLog = Omit<RunLog, 'failures'>
/** Counts by skill. */
type SlotCounts = Map<string, RunCounts>

/** Key prefix of the runs, by skill. */
const SKILL_KEY = 'usage-runs:'
/** Key prefix of the failed and cancelled runs, by skill. */
const FAILURES_KEY = 'usage-failures:'
/** Key prefix of the counts, by slot. */
const SLOT_KEY = 'usage-runs-slot:'
/** Maximum number of runs of a skill that are stored one by one. */
const MAX_RECENT = 100
/** Maximum number of failed and cancelled runs of a skill that are stored one by one. */
const MAX_FAILURES = 200
/** Maximum number of callers that are counted one by one. Further ones are combined. */
const MAX_CALLERS = 20
const OTHERS = '(others)'
/** Number of days in a document, including today: a range starts seven days ago at the earliest. */
const DAYS = 8

/**
 * Runs of skills, in the store for all daemons: a document per skill, and another one for its
 * failures. Runs are collected in memory until `flush`, so a killed daemon loses those of the last
 * seconds. What a flush could not store stays in memory for the next one.
 */
export function createRunLogs({ kv, now }: { kv: KeyValues; now(): number }) {
  /** Logs that are not stored yet, by skill. */
  let pending = new Map<string, RunLog>()
  /** Counts that are not stored yet, by slot, then by skill. */
  let slots = new Map<string, SlotCounts>()
  const take = () => {
    const additions = [
      ...[...pending].flatMap(([skill, log]) => logAdditions(skill, log, now)),
      ...[...slots].map(([slot, counts]) => slotAddition(slot, counts)),
    ]
    pending = new Map()
    slots = new Map()
    return additions
  }
  const { flush } = createOnceWrites(kv, take)

  return {
    /** Called after each run, so it must be cheap. */
    add(skill: string, run: Run): void {
      const log = pending.get(skill) ?? { recent: [], failures: [], days: {} }
      pending.set(skill, log)
      log.recent.unshift(run)
      if (log.recent.length > 2 * MAX_RECENT) log.recent.length = MAX_RECENT
      if (run.code !== undefined) log.failures.unshift(run)
      if (log.failures.length > 2 * MAX_FAILURES) log.failures.length = MAX_FAILURES
      const day = dayOf(run.at)
      const slot = slotOf(run.at)
      log.days[day] ??= noCounts()
      countRun(log.days[day], run)
      const bySkill: SlotCounts = slots.get(slot) ?? new Map()
      slots.set(slot, bySkill)
      const counts = bySkill.get(skill) ?? noCounts()
      bySkill.set(skill, counts)
      countRun(counts, run)
    },
    /** The counts of each slot in a span, by skill. */
    bySkill: ({ names: slotNames }: Pick<Span, 'names'>) =>
      valuesOf(kv, SLOT_KEY, slotNames, (_name, value) => readSlot(value).entries),
    /**
     * The counts of one skill in each slot of a span in which it ran, oldest first. `at`: the start
     * of the slot (Unix ms).
     */
    async slotsOf(skill: string, { names: slotNames }: Pick<Span, 'names'>) {
      const slots = await valuesOf(kv, SLOT_KEY, slotNames, (name, value) => {
        const counts = countsOf(readSlot(value).entries, skill)
        if (!counts) return undefined
        const { runs, failed, durations, parts, longest } = counts
        return { at: Date.parse(name), runs, failed, durations, parts, ...defined({ longest }) }
      })
      return slots.filter((slot) => slot !== undefined)
    },
    /** Stores the collected runs. */
    flush,
    async read(skill: string): Promise<StoredLog> {
      return readLog((await kv.get(SKILL_KEY + skill))?.value).known
    },
    /** The newest failed and cancelled runs of a skill, newest first. */
    async failures(skill: string): Promise<Run[]> {
      return readStoredList(runSchema, (await kv.get(FAILURES_KEY + skill))?.value).entries
    },
    /** The skills that have run recently. */
    skills: async () => (await allKeys(kv, SKILL_KEY)).map((key) => key.slice(SKILL_KEY.length)),
  }
}

/** The new runs of a skill, for its document and for that of its failures. */
function logAdditions(skill: string, log: RunLog, now: () => number): Addition[] {
  const ttl = (DAYS + 1) * DAY
  const runs: Addition = {
    key: SKILL_KEY + skill,
    change(current) {
      const { known, write } = readLog(current)
      return { value: write(merged(known, log, now())), ttl }
    },
  }
  const failures: Addition = {
    key: FAILURES_KEY + skill,
    change(current) {
      const { entries, write } = readStoredList(runSchema, current)
      return { value: write(newest([...log.failures, ...entries], MAX_FAILURES)), ttl }
    },
  }
  return log.failures.length > 0 ? [runs, failures] : [runs]
}

function slotAddition(slot: string, added: SlotCounts): Addition {
  return {
    key: SLOT_KEY + slot,
    change(current) {
      const { entries, write } = readSlot(current)
      const all = { ...entries }
      for (const [skill, counts] of added) all[skill] = addCounts(countsOf(entries, skill), counts)
      return { value: write(all), ttl: SLOT_RETENTION }
    },
  }
}

function readLog(value: Json | undefined) {
  const raw = isJsonObject(value) ? value : {}
  const recent = readStoredList(runSchema, raw.recent).entries
  const days = readStoredRecord(countsSchema, raw.days)
  const known: StoredLog = { recent, days: { ...days.entries } }
  const write = (next: StoredLog): JsonObject => {
    return { ...raw, recent: toJson(next.recent), days: days.write(next.days) }
  }
  return { known, write }
}

/** The counts of a skill in a slot. Safe for a skill with a name such as `constructor`. */
export function countsOf(slot: Readonly<Record<string, RunCounts>>, skill: string): RunCounts | undefined {
  return Object.hasOwn(slot, skill) ? slot[skill] : undefined
}

function noCounts(): RunCounts {
  return { runs: 0, failed: 0, cancelled: 0, ...noDurations(), callers: {} }
}

function countRun(counts: RunCounts, { code, ms, by, test, cost }: Run): void {
  if (test) {
    counts.tests = (counts.tests ?? 0) + 1
    return
  }
  counts.runs++
  if (code === CANCELLED) counts.cancelled++
  else if (code !== undefined) {
    counts.failed++
    counts.failedCallers ??= {}
    countCaller(counts.failedCallers, by, 1)
  }
  if (cost) counts.cost = addCosts(counts.cost, { ...cost, runs: 1 })
  // How long a cancelled run took says when somebody ended it.
  if (code !== CANCELLED) addDuration(counts, ms)
  countCaller(counts.callers, by, 1)
}

/** Adds two sets of counts. */
export function addCounts(before: RunCounts = noCounts(), counts: RunCounts): RunCounts {
  const callers = { ...before.callers }
  for (const [by, times] of Object.entries(counts.callers)) countCaller(callers, by, times)
  const failedCallers = { ...before.failedCallers }
  for (const [by, times] of Object.entries(counts.failedCallers ?? {})) countCaller(failedCallers, by, times)
  const cost = counts.cost ? addCosts(before.cost, counts.cost) : before.cost
  const tests = (before.tests ?? 0) + (counts.tests ?? 0)
  return {
    runs: before.runs + counts.runs,
    failed: before.failed + counts.failed,
    cancelled: before.cancelled + counts.cancelled,
    ...addDurations(before, counts),
    callers,
    ...(Object.keys(failedCallers).length > 0 && { failedCallers }),
    ...(tests > 0 && { tests }),
    ...defined({ cost }),
  }
}

type Costs = NonNullable<RunCounts['cost']>

function addCosts(before: Costs | undefined, added: Costs): Costs {
  return { ...addCost(before, added), runs: (before?.runs ?? 0) + added.runs }
}

function countCaller(callers: Record<string, number>, by: string, times: number): void {
  const isCounted = Object.hasOwn(callers, by) || Object.keys(callers).length < MAX_CALLERS
  const name = isCounted ? by : OTHERS
  addCount(callers, name, times)
}

function newest(runs: readonly Run[], most: number): Run[] {
  return runs.toSorted((a, b) => b.at - a.at).slice(0, most)
}

/** The newest runs; the last one that is not a test stays, however many tests follow it. */
function withLast(runs: readonly Run[]): Run[] {
  const kept = runs.slice(0, MAX_RECENT)
  const last = runs.find(({ test }) => !test)
  return last === undefined || kept.includes(last) ? kept : [...kept.slice(0, -1), last]
}

/** Combines two logs of a skill, and leaves out days that are too old. */
function merged(known: StoredLog, added: StoredLog, now: number): StoredLog {
  const recent = withLast(newest([...added.recent, ...known.recent], 2 * MAX_RECENT))
  const oldest = dayOf(now - (DAYS - 1) * DAY)
  const days: RunLog['days'] = {}
  for (const [day, counts] of [...Object.entries(known.days), ...Object.entries(added.days)]) {
    if (day < oldest) continue
    days[day] = addCounts(days[day], counts)
  }
  return { recent, days }
}
