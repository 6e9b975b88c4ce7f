import type { Event } from '../../core/event.ts'
import type { createCircuit } from './circuit.ts'
import type { Answer } from './post.ts'
import type { Records } from './records.ts'

/**
 * Number of shown attempts, number kept before the oldest are dropped, and minimum interval (ms) of
 * writes.
 */
const SHOWN = { most: 50, kept: 200, every: 500 }

export type Attempts = Awaited<ReturnType<typeof createAttempts>>

/** The attempts of one subscription: their effect on the circuit, and the report of the newest. */
export async function createAttempts(deps: {
  records: Records
  circuit: ReturnType<typeof createCircuit>
  /** Counts a successful attempt and its duration. */
  pushed(seconds: number): void
  recovered(): void
  /** Called after each report. */
  reported(): Promise<void>
  failed(error: unknown): void
  now(): number
}) {
  const { records, circuit, now } = deps
  /** Newest last. */
  const attempts = (await records.report()).attempts.toReversed()
  let reporting: NodeJS.Timeout | undefined

  const report = async () => {
    clearTimeout(reporting)
    reporting = undefined
    await records.tell({ attempts: attempts.slice(-SHOWN.most).reverse(), failures: circuit.failures() })
    await deps.reported()
  }

  return {
    report,
    /**
     * Records an attempt that began `at`. `stays`: the failure is not about the event, which keeps
     * its place. `isGone`: the receiver wants no more events (HTTP 410, Standard Webhooks).
     * `isStopping`: a failure was probably caused by the stop.
     */
    note(event: Event, number: number, at: number, answer: Answer, isStopping: boolean) {
      const { retryAt = 0, ...said } = answer
      const { reason, status } = said
      const isGone = status === 410
      const ms = now() - at
      const wasOpen = circuit.isOpen()
      if (reason === undefined) {
        if (!circuit.isClosed()) deps.recovered()
        circuit.succeeded()
        deps.pushed(ms / 1000)
      } else if (isStopping) return { reason, stays: true, isGone: false }
      else circuit.failed(retryAt)
      attempts.push({ at, event: event.id, attempt: number, ms, ...said })
      if (attempts.length > SHOWN.kept) attempts.splice(0, attempts.length - SHOWN.most)
      reporting ??= setTimeout(() => void report().catch(deps.failed), SHOWN.every)
      return { reason, stays: wasOpen || isGone, isGone }
    },
  }
}
