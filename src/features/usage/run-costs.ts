import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Call } from '../../core/call.ts'
import type { Json } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { KeyValues } from '../../core/store.ts'
import { DAY } from '../../core/units.ts'
import { withoutRoundingErrors } from '../../lib/rounding.ts'
import type { StepUsage } from './cost-ledger.ts'

/**
 * What the steps of models in a run, or in several runs, used. `money` is of the tokens that have a
 * price; `unpriced` counts the others.
 */
export const runCostSchema = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  money: z.number(),
  unpriced: z.number(),
})
export type RunCost = z.infer<typeof runCostSchema>

type Step = Pick<StepUsage, 'inputTokens' | 'outputTokens' | 'money'>

/** Prefix of the cost of runs that will be resumed. */
const CARRIED = 'usage-carried:'
/** As long as runs can be resumed (ms). */
const CARRIED_FOR = 30 * DAY

export function addCost(before: RunCost | undefined, added: RunCost): RunCost {
  if (!before) return added
  return {
    inputTokens: before.inputTokens + added.inputTokens,
    outputTokens: before.outputTokens + added.outputTokens,
    money: withoutRoundingErrors(before.money + added.money),
    unpriced: before.unpriced + added.unpriced,
  }
}

/** The cost as people see it: without `money` if nothing has a price. */
export function shownCost({ inputTokens, outputTokens, money, unpriced }: RunCost) {
  const isPriced = unpriced < inputTokens + outputTokens
  return { inputTokens, outputTokens, ...(isPriced && { money }), ...(unpriced > 0 && { unpriced }) }
}

/** The cost of a run under way. `earlier`: what its earlier parts used, once that was read. */
type Meter = { used?: RunCost; earlier?: Promise<RunCost | undefined> }

export type RunCosts = ReturnType<typeof createRunCosts>

/**
 * Adds up what each run costs. A run that waits for an approval or a budget ends and is resumed later,
 * possibly by another daemon: its cost so far is kept in the store until the run has ended, and is
 * then part of its cost. Runs without a model cost no call of the store.
 */
export function createRunCosts({ kv, log }: { kv: KeyValues; log: Pick<Log, 'warn'> }) {
  const meters = new WeakMap<object, Meter>()
  const meterOf = ({ run }: Call) => (run ? meters.get(run) : undefined)
  const writes = new Set<Promise<unknown>>()
  const write = (work: Promise<unknown>) => {
    const ended = work
      .catch((err: unknown) => log.warn({ err }, 'the cost of a run could not be kept'))
      .finally(() => writes.delete(ended))
    writes.add(ended)
  }

  return {
    /** Called for each run, so it must be cheap. */
    begin(call: Call): void {
      const run: Meter = {}
      call.run = run
      meters.set(run, run)
    },
    /** Adds a step to the run of a call. */
    async spent(call: Call, step: Step): Promise<void> {
      const meter = meterOf(call)
      if (!meter) return
      const isFirst = meter.used === undefined
      meter.used = addCost(meter.used, costOf(step))
      if (!isFirst || !call.message) return
      meter.earlier = kv.get(keyOf(call)).then((entry) => readCost(entry?.value))
      const earlier = await meter.earlier
      if (earlier) meter.used = addCost(meter.used, earlier)
    },
    /** The cost of a run that has ended; undefined without a model. */
    ended(call: Call): RunCost | undefined {
      const meter = meterOf(call)
      if (!meter?.used) return undefined
      if (meter.earlier) write(meter.earlier.then((earlier) => earlier && kv.delete(keyOf(call))))
      return meter.used
    },
    /** Keeps the cost of a run that will be resumed. */
    interrupted(call: Call): void {
      const meter = meterOf(call)
      if (meter?.used && call.message) write(kv.set(keyOf(call), { ...meter.used }, { ttl: CARRIED_FOR }))
    },
    /** Resolves when everything is stored. */
    settled: async () => void (await Promise.all(writes)),
  }
}

/** The key of a run, the same in each attempt at its message. It has no id that can be read. */
function keyOf({ rootId, skill, place = '' }: Call): string {
  return CARRIED + hash('sha256', JSON.stringify([rootId, skill, place])).slice(0, 32)
}

function costOf({ inputTokens, outputTokens, money }: Step): RunCost {
  const unpriced = money === undefined ? inputTokens + outputTokens : 0
  return { inputTokens, outputTokens, money: money ?? 0, unpriced }
}

function readCost(value: Json | undefined): RunCost | undefined {
  return runCostSchema.safeParse(value).data
}
