import type { Event } from '../../core/event.ts'
import { timeOf } from '../../core/message-id.ts'
import { waitingSince } from '../../engine/event-rounds.ts'
import { defined } from '../../lib/defined.ts'
import { createAttemptList, keptAttempt, type Settlement } from './attempt-list.ts'
import type { createCircuit } from './circuit.ts'
import { errorsSince } from './error-share.ts'
import { createExchanges, type Exchanges } from './exchanges.ts'
import type { Answer } from './post.ts'
import { MAX_REPLAYS, type Records, type Report } from './records.ts'

/** Minimum interval (ms) between two reports. */
const REPORT_INTERVAL = 500

/** The number of an attempt, and the round of the event: a replay starts a new round. */
export type AttemptOf = { attempt: number; round: number | undefined }

export type Attempts = Awaited<ReturnType<typeof createAttempts>>

type AttemptsDeps = {
  records: Records
  circuit: ReturnType<typeof createCircuit>
  /** The host of the receiver. */
  host: string
  /** Counts a successful attempt and its duration. */
  pushed(seconds: number): void
  /** Called at the first success after the circuit was open. */
  recovered(): void
  /**
   * Keeps an attempt in the history of the event's message. Undefined if the topic has no messages.
   */
  keep?: ((event: Event, attempt: object) => void) | undefined
  /** Called with each attempt that counts. */
  made(attempt: { at: number; ms: number; answer: Answer }): void
  /** Called after each report. */
  reported(): Promise<void>
  failed(error: unknown): void
  now(): number
}

/** The attempts of one subscription: their effect on the circuit, and the report of the newest. */
export async function createAttempts(deps: AttemptsDeps) {
  const { records, circuit, host, now } = deps
  /** The report of an earlier start. Its attempts are newest first. */
  const before = await records.report()
  const { attempts: stored, replays, failingSince: begun, errorsSince: errorsBegun } = before
  const exchanges = createExchanges(records, before.chunk)
  /** When the first of the consecutive failed attempts began (Unix ms). */
  let failingSince = begun
  /** Since when a large share of the attempts fails (Unix ms). */
  let unreliableSince = errorsBegun
  const attempts = createAttemptList(stored)
  let reportTimer: NodeJS.Timeout | undefined

  const report = async () => {
    clearTimeout(reportTimer)
    reportTimer = undefined
    await exchanges.write()
    const written = await records.changeReport((last) => {
      attempts.dropErased(last.attempts)
      const newest = attempts.newest()
      unreliableSince = errorsSince(newest, unreliableSince)
      const since = defined({ failingSince, errorsSince: unreliableSince })
      return { attempts: newest, replays, chunk: exchanges.chunk(), ...since, ...stateOf(circuit, host) }
    })
    attempts.wasReported(written.attempts)
    await deps.reported()
  }

  const reportSoon = () => {
    reportTimer ??= setTimeout(() => void report().catch(deps.failed), REPORT_INTERVAL)
  }

  return {
    report,
    /** Records what follows the last failed attempt for an event in a round. */
    settled(event: string, round: number | undefined, settlement: Settlement): void {
      attempts.settle(deliveryIn(event, round), settlement)
      reportSoon()
    },
    /**
     * Records an attempt that began at `start` (Unix ms). `isStopping`: a failure was probably caused by
     * the stop, and is not recorded. Returns the `reason` of a failure. `stays`: the failure is not
     * about the event, which keeps its place. `isGone`: the receiver wants no more events (HTTP
     * 410, Standard Webhooks).
     */
    record(event: Event, of: AttemptOf, start: number, answer: Answer, isStopping: boolean) {
      const { attempt, round = 0 } = of
      const { reason, status, retryAt = 0, sentAt: at = start } = answer
      const isGone = status === 410
      const ms = now() - at
      const wasOpen = circuit.isOpen()
      if (reason === undefined) {
        if (!circuit.isClosed()) deps.recovered()
        circuit.succeeded()
        failingSince = undefined
        deps.pushed(ms / 1000)
      } else if (isStopping) {
        return { reason, stays: true, isGone: false }
      } else {
        circuit.failed(retryAt)
        failingSince ??= at
      }
      const delivery = deliveryIn(event.id, round)
      const { since } = delivery
      if (since !== undefined) countReplayed(replays, since, reason === undefined ? now() : undefined)
      keepExchange(exchanges, at, event.id, answer)
      const made = { at, ...delivery, attempt: attempts.numberOf(delivery, attempt), ms, answer }
      attempts.add(made)
      deps.made(made)
      // The report has only the newest attempts of all events. The history has them as long as the
      // message, so that each delivery can be proved.
      deps.keep?.(event, keptAttempt(made))
      reportSoon()
      return { reason, stays: wasOpen || isGone, isGone }
    },
  }
}

/** The delivery of an event in a round. `since`: the start of its replay, if it is one. */
function deliveryIn(event: string, round = 0): { event: string; since?: number } {
  const since = waitingSince(event, round)
  return since > timeOf(event) ? { event, since } : { event }
}

/** The state of a circuit for a report. */
function stateOf(circuit: AttemptsDeps['circuit'], host: string) {
  const pause = circuit.askedPause()
  const retryAfter = pause && { host, ...pause }
  return { failures: circuit.failures(), openUntil: circuit.openUntil(), ...defined({ retryAfter }) }
}

function keepExchange(kept: Exchanges, at: number, event: string, answer: Answer): void {
  const { exchange, reason } = answer
  if (exchange) kept.add(reason !== undefined, () => ({ at, event, ...exchange() }))
  // It holds the whole body of the answer.
  answer.exchange = undefined
}

/** Notes that a replay was tried, and counts the event if the receiver accepted it (at, Unix ms). */
function countReplayed(replays: Report['replays'], round: number, acceptedAt: number | undefined): void {
  let replay = replays.find((each) => each.round === round)
  if (!replay) {
    replay = { round, delivered: 0 }
    replays.unshift(replay)
    if (replays.length > MAX_REPLAYS) replays.pop()
  }
  if (acceptedAt === undefined) return
  replay.delivered++
  replay.lastAt = acceptedAt
}
