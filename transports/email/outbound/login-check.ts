import { reasonOf } from '../../../src/core/errors.ts'
import type { Log } from '../../../src/core/log.ts'
import { MINUTE } from '../../../src/core/units.ts'
import { backoff } from '../../../src/lib/backoff.ts'
import { pause } from '../../../src/lib/pause.ts'
import type { Submission } from './submission.ts'

/** Interval of the checks while the login works. */
const INTERVAL_MS = 15 * MINUTE
/** Pauses (ms) after failures: exponential from `first` to `longest`. */
const RETRY = { first: 15_000, longest: 5 * MINUTE }

/**
 * Checks the login to the SMTP server, or the key of the API, regularly from the start, so that a
 * wrong host, certificate, password or key shows before the first reply. A sent mail counts as a
 * check.
 */
export function createLoginCheck(
  { name, isApi, verify }: Pick<Submission, 'name' | 'isApi' | 'verify'>,
  { log, now }: { log: Log; now(): number },
) {
  const target = isApi ? `the API of ${name}` : 'the SMTP server'
  const stopping = new AbortController()
  let trouble: string | undefined
  let succeededAt = Number.NEGATIVE_INFINITY
  let failures = 0
  let isRunning = false

  const recordSuccess = () => {
    if (trouble !== undefined) log.info({}, `${target} can be used again`)
    trouble = undefined
    failures = 0
    succeededAt = now()
  }

  const check = async () => {
    try {
      await verify()
      recordSuccess()
    } catch (error) {
      const reason = reasonOf(error)
      if (trouble !== reason) log.warn({ reason }, `${target} cannot be used; replies wait until it can`)
      trouble = reason
      failures++
    }
  }

  const run = async () => {
    while (!stopping.signal.aborted) {
      if (now() - succeededAt >= INTERVAL_MS) await check()
      await pause(failures > 0 ? backoff(failures, RETRY) : INTERVAL_MS, stopping.signal)
    }
  }

  return {
    start(): void {
      if (isRunning) return
      isRunning = true
      void run()
    },
    /** Records a sent mail, which shows that the login works. */
    recordSuccess,
    /** Describes a failing login, if any. */
    trouble: () => trouble && `no mail can be sent: ${trouble}`,
    /** Stops checking. A login in progress ends when the connections close. */
    stop(): void {
      stopping.abort()
    },
  }
}
