import { TriviumError, toTriviumError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { ClaimedJob } from '../core/store.ts'
import type { Reply } from '../core/transport.ts'
import { attemptError, attemptOf, failedAttempt, type RunOutcome } from './attempts.ts'
import { answerOf, outboxNote } from './outbox.ts'

/** Sends are retried for about a day, after 1 s, 2 s, 4 s, … up to an hour. */
const RETRY = { attempts: 32, first: 1000, longest: 3_600_000 }
const CUT_OFF = 'an attempt was interrupted before the answer came'

/**
 * The outcomes of sends that failed or may have failed. Each is logged, passed to `sent`, and noted
 * in the history.
 */
export function createOutboxFailures(options: {
  sent(reply: Reply, outcome: 'retry' | 'dead'): unknown
  log: Log
  now(): number
}) {
  const { log, now } = options

  const failed = (
    job: ClaimedJob,
    reply: Reply,
    thrown: unknown,
    outcome = failedAttempt(job, thrown, RETRY, now()),
  ): RunOutcome => {
    const { message } = outcome.error
    const fields = fieldsOf(job, reply, thrown)
    void options.sent(reply, outcome.outcome)
    if (outcome.outcome === 'retry') {
      const { delay } = outcome
      log.warn({ ...fields, delay }, 'the reply was not sent; trying again')
      const attempt = attemptOf(job)
      // The text, which conversations show, is stored only with the first attempt.
      const about = attempt === 1 ? answerOf(reply) : { key: reply.key }
      return { ...outcome, notes: [note('send failed', { ...about, attempt, error: message, delay })] }
    }
    const { reason } = outcome
    log.error(fields, 'the reply became a dead letter')
    return { ...outcome, notes: [note('dead', { ...answerOf(reply), error: message, reason })] }
  }

  /**
   * A reply that may have arrived. With `how` (instructions for an operator) it becomes a dead
   * letter; without, the next attempt probes.
   */
  const uncertain = (job: ClaimedJob, reply: Reply, how?: string): RunOutcome => {
    const { gateway, key } = reply
    const reason = how === undefined ? CUT_OFF : `${CUT_OFF}; ${how}, then retry this dead letter or drop it`
    const thrown = new TriviumError('send_ambiguous', { gateway, key, reason })
    const error = attemptError(thrown, now())
    if (how === undefined) return failed(job, reply, thrown, { outcome: 'retry', delay: 0, error })
    return failed(job, reply, thrown, { outcome: 'dead', reason: 'ambiguous', error })
  }

  const note = (what: string, detail: object) => outboxNote(now(), what, detail)

  return { failed, uncertain }
}

/** Whether the reply of an earlier attempt may have arrived unnoticed. */
export function isUncertain({ lost, errors }: ClaimedJob): boolean {
  return lost > 0 || errors.some(({ code }) => code === 'send_ambiguous')
}

/** The log fields of an attempt to send. */
export function fieldsOf(
  job: ClaimedJob,
  { gateway, conversation, inReplyTo: messageId }: Reply,
  thrown: unknown,
) {
  return { gateway, conversation, messageId, attempt: attemptOf(job), err: toTriviumError(thrown) }
}
