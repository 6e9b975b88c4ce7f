import type { Call } from '../../core/call.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { type BuiltInLayer, defineBuiltInLayer } from '../../core/layers.ts'
import { isTest } from '../../core/message.ts'
import { defined } from '../../lib/defined.ts'
import type { RunCosts } from './run-costs.ts'
import type { Run } from './run-log.ts'
import type { RunningRuns } from './running-runs.ts'

/** Maximum characters of an error. */
const MAX_ERROR = 200

/**
 * Records the runs of skills that are not built in. Its order is inside `approval`, so that the
 * wait for a person does not count.
 */
export function createRunsMiddleware(deps: {
  add(skill: string, run: Run): void
  running: Pick<RunningRuns, 'begin'>
  costs: Pick<RunCosts, 'begin' | 'ended' | 'interrupted'>
  /** Redacts secrets in the text of an error. */
  clean(text: string): string
  now(): number
}): BuiltInLayer {
  const { add, running, costs, now } = deps
  return defineBuiltInLayer({
    name: 'runs',
    order: 250,
    description: 'Counts runs, errors and durations',
    always: true,
    setup(_settings, { name }, { isBuiltIn }) {
      if (isBuiltIn) return undefined
      return (ctx, next) => {
        const { call } = ctx
        const startedAt = performance.now()
        const origin = originOf(call)
        const end = running.begin(name, { since: now(), ...origin })
        costs.begin(call)
        const record = (failed?: Pick<Run, 'code' | 'error'>) => {
          const cost = costs.ended(call)
          const ms = Math.round(performance.now() - startedAt)
          if (call.depth === 0) call.onRan?.(ms)
          add(name, { at: now(), ms, ...origin, ...failed, ...(cost && { cost }) })
        }
        const result = next()
        result.then(
          () => {
            end()
            record()
          },
          (error) => {
            end()
            const cause = ctx.signal.aborted ? ctx.signal.reason : error
            if (willRunAgain(cause)) costs.interrupted(call)
            else record(failureOf(cause, deps.clean))
          },
        )
        return result
      }
    },
  })
}

/** The caller of a run, its message, and whether that is a test. */
function originOf(call: Call): Pick<Run, 'by' | 'messageId' | 'test'> {
  const { message } = call
  const of = message && { messageId: message.id, ...defined({ test: isTest(message) || undefined }) }
  return { by: callerOf(call), ...of }
}

/**
 * Codes of errors of runs that wait for a person, a budget or a paused skill, or were interrupted by a
 * stop.
 */
const RUNS_AGAIN = /^(approval_pending|budget_exhausted|skill_paused|cancelled|stopping)$/

function willRunAgain(error: unknown): boolean {
  return error instanceof TriviumError && RUNS_AGAIN.test(error.code)
}

function failureOf(error: unknown, clean: (text: string) => string): Pick<Run, 'code' | 'error'> {
  const code = error instanceof TriviumError ? error.code : 'skill_failed'
  return { code, error: clean(reasonOf(error)).slice(0, MAX_ERROR) }
}

/**
 * The caller of a skill: another skill, a route, a schedule, or the interface that a person or
 * program used.
 */
function callerOf({ depth, by, route, caller: { kind, id } }: Call): string {
  if (depth > 0 && by !== undefined) return `skill ${by}`
  if (route !== undefined) return `route ${route}`
  if (kind === 'code' && id?.startsWith('schedule:')) return id.replace(':', ' ')
  return id === undefined ? kind : `${kind} ${id}`
}
