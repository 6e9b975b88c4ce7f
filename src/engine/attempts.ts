import { reasonOf, TriviumError } from '../core/errors.ts'
import { pathGet } from '../core/json.ts'
import type { AttemptError, ClaimedJob, Settled } from '../core/store.ts'
import { type Backoff, backoff } from '../lib/backoff.ts'

/**
 * Outcome of a run. A run that throws after its signal aborted releases the job, and does not count
 * as an attempt; any other error is a failed attempt. `ran`: the target ran to its end.
 */
export type RunOutcome = WithoutClaim<Settled> & { ran?: true }

type WithoutClaim<Each> = Each extends Settled ? Omit<Each, 'id' | 'token'> : never

/** How often a failed job is tried, and with which pauses. */
export type Retry = Backoff & { attempts: number }

/** Minimum and maximum time (ms) until a message that waits for a budget is tried again. */
const SHORTEST_PAUSE = 1_000
const LONGEST_PAUSE = 60_000

/**
 * How long (ms) to wait after a budget refusal, which does not count as an attempt. Undefined for
 * any other error.
 */
export function pauseOf(thrown: unknown, now: number): number | undefined {
  if (!(thrown instanceof TriviumError) || thrown.code !== 'budget_exhausted') return undefined
  const until = Number(pathGet(thrown.cause, 'until'))
  return Math.max(SHORTEST_PAUSE, Math.min(until - now, LONGEST_PAUSE))
}

/**
 * Outcome of a failed attempt: a retry after a pause, or a dead letter (at once if a retry cannot
 * help).
 */
export function failedAttempt(
  job: Pick<ClaimedJob, 'failures' | 'lost'>,
  thrown: unknown,
  retry: Retry,
  at: number,
): Extract<RunOutcome, { outcome: 'retry' | 'dead' }> {
  const attempt = attemptOf(job)
  const error = attemptError(thrown, at)
  const permanent = thrown instanceof TriviumError && !thrown.retryable
  if (!permanent && attempt < retry.attempts) {
    return { outcome: 'retry', delay: backoff(attempt, retry), error }
  }
  return { outcome: 'dead', error, reason: permanent ? 'permanent' : 'attempts' }
}

/** Attempt number of a job; attempts whose holder died count. */
export function attemptOf({ failures, lost }: Pick<ClaimedJob, 'failures' | 'lost'>): number {
  return failures + lost + 1
}

/** The error of a job whose last attempt ended with its holder: the last stored one, if any. */
export function lastErrorOf({ errors, lost }: ClaimedJob): Error {
  return new Error(errors.at(-1)?.message ?? `the process that ran it died ${lost} times`)
}

/** An error, in the form stored with a job's attempts. */
export function attemptError(error: unknown, at: number): AttemptError {
  const cause = error instanceof TriviumError && error.code === 'job_failed' ? error.cause : error
  const stack = cause instanceof Error && !(cause instanceof TriviumError) ? cause.stack : undefined
  return {
    at,
    code: error instanceof TriviumError ? error.code : 'skill_failed',
    message: reasonOf(error),
    ...(stack ? { stack: stack.slice(0, 2000) } : {}),
  }
}
