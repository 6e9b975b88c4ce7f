import { reasonOf } from '../../../src/core/errors.ts'
import type { Log } from '../../../src/core/log.ts'
import { backoff } from '../../../src/lib/backoff.ts'
import { pause } from '../../../src/lib/pause.ts'

/** Interval (ms) of checks while healthy, and pause after the first failure, doubled up to `longest`. */
const EVERY = 900_000
const RETRY = { first: 15_000, longest: 300_000 }

/**
 * Checks the SMTP login regularly from the start, so that a wrong host, certificate or password shows before the first reply. A sent mail
 * counts as a check.
 */
export function createLoginCheck(parts: { verify(): Promise<unknown>; log: Log; now(): number }) {
  const { verify, log, now } = parts
  const stopping = new AbortController()
  let trouble: string | undefined
  let goodAt = Number.NEGATIVE_INFINITY
  let failures = 0
  let isRunning = false

  const good = () => {
    if (trouble !== undefined) log.info({}, 'the SMTP server can be used again')
    trouble = undefined
    failures = 0
    goodAt = now()
  }

  const look = async () => {
    try {
      await verify()
      good()
    } catch (error) {
      const reason = reasonOf(error)
      if (trouble !== reason)
        log.warn({ reason }, 'the SMTP server cannot be used; replies wait until it can')
      trouble = reason
      failures++
    }
  }

  const run = async () => {
    while (!stopping.signal.aborted) {
      if (now() - goodAt >= EVERY) await look()
      await pause(failures > 0 ? backoff(failures, RETRY) : EVERY, stopping.signal)
    }
  }

  return {
    start(): void {
      if (isRunning) return
      isRunning = true
      void run()
    },
    /** Records a sent mail. */
    good,
    /** Describes a failing login, if any. */
    trouble: () => trouble && `no mail can be sent: ${trouble}`,
    /** Stops checking. A login in progress ends when the connections close. */
    stop(): void {
      stopping.abort()
    },
  }
}
