import { z } from 'zod'
import { TriviumError, toTriviumError } from '../core/errors.ts'
import type { Json } from '../core/json.ts'
import { isTest } from '../core/message.ts'
import { pausedSkillIn } from '../core/paused-skill.ts'
import { isStoreAway } from '../core/reachable.ts'
import type { ClaimedJob, Note } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { TEST_LASTS } from '../lib/last-attempt.ts'
import { failedAttempt, pauseOf, type RunOutcome } from './attempts.ts'
import type { Dispatch, DispatchOptions } from './dispatch-options.ts'
import { backoffOf } from './next-attempt.ts'
import { STORE_PAUSE } from './worker-settler.ts'

/** Maximum number of remembered messages that wait; above it, some senders are notified again. */
const MOST_WAITING = 10_000

const WAITS = 'waits for an approval'
/** The history entry of a message whose run called a paused skill. */
export const WAITS_FOR_SKILL = 'waits for a paused skill'
/**
 * The history entry of a message that no target received, because a person handles its
 * conversation. Its outcome is `dropped`.
 */
export const HANDLED = 'handled by a person'

/**
 * The outcome of a failed attempt, by the `retry` of its route. A test message whose next attempt
 * is far away becomes a dead letter.
 */
function failureOf(job: ClaimedJob, { message, route }: Dispatch, thrown: unknown, at: number) {
  const { retry } = route
  const outcome = failedAttempt(job, thrown, { attempts: retry.attempts, ...backoffOf(retry) }, at)
  const isLate = outcome.outcome === 'retry' && at + outcome.delay > message.receivedAt + TEST_LASTS
  if (!isLate || !isTest(message)) return outcome
  return { outcome: 'dead', error: outcome.error, reason: 'attempts' } as const
}

/** How long an attempt took (`ms`), and its skill alone, if that is less. */
function timesOf({ skillMs }: Dispatch, ms: number): { ms: number; skillMs?: number } {
  return skillMs !== undefined && skillMs < ms ? { ms, skillMs } : { ms }
}

/** What a run adds to its outcome. */
type Ended = {
  /** Further history entries. */
  notes?: readonly Note[]
  /** Replaces the `done` entry. */
  handled?: Note
  /** Why the skill sent no reply. */
  noReply?: string
  /** What the target returned, if that is not sent. */
  returned?: string
}

/** What waits for a budget. Of each message that waits, the sender is notified once. */
function createBudgetWaits({
  outbox,
  log,
  note,
}: Pick<DispatchOptions, 'outbox' | 'log'> & { note: (what: string, detail: Json) => Note }) {
  /** Messages that wait for a budget or a paused skill, as far as this process knows. */
  const waiting = new Set<string>()
  const add = (messageId: string) => {
    if (waiting.size >= MOST_WAITING) waiting.clear()
    waiting.add(messageId)
  }
  return {
    isWaiting: (messageId: string) => waiting.has(messageId),
    end: (messageId: string) => waiting.delete(messageId),
    add,
    /** The message keeps its place in the lane. */
    async begin({ message, route, attempt }: Dispatch, error: TriviumError, delay: number) {
      if (waiting.has(message.id)) return { outcome: 'release', delay } as const
      add(message.id)
      if (route.reply !== 'none') {
        const text = `${error.message} Your message waits until then.`
        await outbox.reply(message, { key: `budget:${message.id}`, text, by: `route ${route.name}` })
      }
      log.warn({ messageId: message.id, route: route.name }, error.message)
      const budget = budgetIn(error)
      const detail = { attempt, error: error.message, delay, ...defined({ budget }) }
      const notes = [note('waits for its budget', detail)]
      return { outcome: 'release', delay, notes } as const
    },
  }
}

/**
 * Makes the outcomes of attempts, with their history entries, for the store. Reports them to the
 * metrics and the log, and notifies a sender whose message waits for a budget.
 */
export function createOutcomes(
  options: Pick<DispatchOptions, 'outbox' | 'metrics' | 'log' | 'now' | 'ended' | 'holdCall'>,
) {
  const { metrics, log, now } = options
  const note = (what: string, detail: Json): Note => ({ at: now(), road: 'dispatch', what, detail })
  const budgetWaits = createBudgetWaits({ ...options, note })

  function failed(job: ClaimedJob, dispatch: Dispatch, started: number, thrown: unknown): RunOutcome {
    const { message, attempt } = dispatch
    const { name } = dispatch.route
    const outcome = failureOf(job, dispatch, thrown, now())
    const fields = { messageId: message.id, route: name, attempt, err: toTriviumError(thrown) }
    const times = timesOf(dispatch, now() - started)
    metrics.dispatched(name, outcome.outcome, times.ms / 1000)
    const { message: error, code } = outcome.error
    const detail = { route: name, attempt, error, code, ...times }
    if (outcome.outcome === 'retry') {
      const { delay } = outcome
      log.warn({ ...fields, delay }, 'the attempt failed; the message will be dispatched again')
      return { ...outcome, notes: [note('failed', { ...detail, delay })] }
    }
    options.ended?.(message)
    log.error(fields, 'the message became a dead letter')
    return { ...outcome, notes: [note('dead', detail)] }
  }

  /** The message keeps its place in the lane until the skill is resumed. */
  async function held(dispatch: Dispatch, started: number, skill: string): Promise<RunOutcome> {
    const { message, route, attempt } = dispatch
    // The skill may have been resumed since it refused the call.
    if (!(await options.holdCall?.(message, skill))) return { outcome: 'release', delay: STORE_PAUSE }
    budgetWaits.add(message.id)
    log.info({ messageId: message.id, route: route.name, skill }, 'the message waits for a paused skill')
    const detail = { route: route.name, attempt, skill, ms: now() - started }
    return { outcome: 'hold', notes: [note(WAITS_FOR_SKILL, detail)] }
  }

  return {
    isWaiting: budgetWaits.isWaiting,
    failed,
    done(job: ClaimedJob, dispatch: Dispatch, started: number, ended: Ended): RunOutcome {
      const { message, route, attempt, sends } = dispatch
      const { notes = [], handled, returned, ...silence } = ended
      options.ended?.(message)
      budgetWaits.end(message.id)
      const times = timesOf(dispatch, now() - started)
      metrics.dispatched(route.name, handled ? 'dropped' : 'done', times.ms / 1000)
      const detail = { route: route.name, attempt, ...times, ...defined({ returned }) }
      const done = { outcome: 'done', notes: [...notes, handled ?? note('done', detail)] } as const
      if (!job.notify) return done
      return { ...done, result: { outcome: 'done', replies: sends.count, ...silence } }
    },
    /** The outcome of an attempt whose target threw. */
    async thrown(job: ClaimedJob, dispatch: Dispatch, started: number, thrown: unknown): Promise<RunOutcome> {
      const { message, route, attempt, sends } = dispatch
      if (thrown instanceof TriviumError && thrown.code === 'approval_pending') {
        // Dispatched again after the decision; see `resumeDispatch`.
        log.info({ messageId: message.id, job: job.id }, thrown.message)
        // A caller who waits for replies also gets the question of the approval.
        const result = { outcome: 'done', replies: sends.count + 1 }
        const approval = pendingApproval(thrown)
        const detail = { ...defined({ approval }), route: route.name, attempt, ms: now() - started }
        return { outcome: 'done', result, notes: [note(WAITS, detail)] }
      }
      if (isStoreAway(thrown)) {
        const fields = { messageId: message.id, route: route.name, err: toTriviumError(thrown) }
        log.warn(fields, 'the attempt runs again once the store is back')
        return { outcome: 'release', delay: STORE_PAUSE }
      }
      const skill = options.holdCall && pausedSkillIn(thrown)
      if (skill !== undefined) return held(dispatch, started, skill)
      const delay = pauseOf(thrown, now())
      return delay === undefined
        ? failed(job, dispatch, started, thrown)
        : budgetWaits.begin(dispatch, toTriviumError(thrown), delay)
    },
  }
}

/** Whose budget is used up, and until when (Unix ms); undefined if the error does not say it. */
function budgetIn({ cause }: TriviumError) {
  return budgetSchema.safeParse(cause).data
}

const budgetSchema = z.object({ of: z.string(), until: z.number() })

/** The id of the approval that `approval_pending` names. */
function pendingApproval({ message }: TriviumError): string | undefined {
  return /approval (\S+)\.$/.exec(message)?.[1]
}

/**
 * Whether a message is completed. With several approvals of one message, an earlier decision may
 * have completed it.
 */
export function wasDone(history: readonly Note[]): boolean {
  const ends = ['done', 'dead', WAITS, HANDLED]
  const last = history.findLast(({ road, what }) => road === 'dispatch' && ends.includes(what))?.what
  return last === 'done' || last === HANDLED
}
