import type { Event } from '../../core/event.ts'
import { timeOf } from '../../core/message-id.ts'
import { waitingSince } from '../../engine/event-rounds.ts'
import { defined } from '../../lib/defined.ts'
import type { createCircuit } from './circuit.ts'
import { errorsSince } from './error-share.ts'
import type { Answer } from './post.ts'
import type { Records, Report } from './records.ts'

/** Number of newest attempts in the report. */
const REPORTED = 200
/** Number of older failed attempts that are in the report too. */
const REPORTED_FAILURES = 100
/** Maximum number of replays whose deliveries are counted. */
const MAX_REPLAYS = 100
/** Maximum number of attempts in memory. Then most are dropped, except the newest. */
const MAX_IN_MEMORY = 400
/** Minimum interval (ms) between two reports. */
const REPORT_INTERVAL = 500

/** `at`: when it began. `since`: when the event was replayed, if it was. Both in Unix ms. */
type Attempt = { at: number; event: string; attempt: number; ms: number; since?: number; answer: Answer }

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
   * Keeps a failed attempt, or a success after one, in the history of the event's message.
   * Undefined if the topic has no messages.
   */
  keep?: ((event: Event, attempt: object) => void) | undefined
  /** Called after each report. */
  reported(): Promise<void>
  failed(error: unknown): void
  now(): number
}

/** The attempts of one subscription: their effect on the circuit, and the report of the newest. */
export async function createAttempts(deps: AttemptsDeps) {
  const { records, circuit, host, now } = deps
  /** The report of an earlier start. Its attempts are newest first. */
  const { attempts: stored, replays, failingSince: begun, errorsSince: errorsBegun } = await records.report()
  /** When the first of the consecutive failed attempts began (Unix ms). */
  let failingSince = begun
  /** Since when a large share of the attempts fails (Unix ms). */
  let unreliableSince = errorsBegun
  /** Attempts made before those in `attempts`, newest first. */
  let earlier = stored
  /** Newest last. */
  const attempts: Attempt[] = []
  let reportTimer: NodeJS.Timeout | undefined

  const report = async () => {
    clearTimeout(reportTimer)
    reportTimer = undefined
    const newest = kept([...attempts.toReversed().map(shownAttempt), ...earlier])
    unreliableSince = errorsSince(newest, unreliableSince)
    const pause = circuit.askedPause()
    const retryAfter = pause && { host, ...pause }
    await records.setReport({
      attempts: newest,
      replays,
      failures: circuit.failures(),
      ...defined({ failingSince, errorsSince: unreliableSince, retryAfter }),
      openUntil: circuit.openUntil(),
    })
    await deps.reported()
  }

  return {
    report,
    /**
     * Records an attempt that began `at` (Unix ms). `isStopping`: a failure was probably caused by
     * the stop, and is not recorded. Returns the `reason` of a failure. `stays`: the failure is not
     * about the event, which keeps its place. `isGone`: the receiver wants no more events (HTTP
     * 410, Standard Webhooks).
     */
    record(event: Event, { attempt, round = 0 }: AttemptOf, at: number, answer: Answer, isStopping: boolean) {
      const { reason, status, retryAt = 0 } = answer
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
      const since = waitingSince(event.id, round)
      const replayed = since > timeOf(event.id) ? { since } : {}
      if (since > timeOf(event.id)) countReplayed(replays, since, reason === undefined)
      const made = { at, event: event.id, attempt, ms, ...replayed, answer }
      attempts.push(made)
      // Kept in the history too, because the report has only the newest attempts of all events.
      if (reason !== undefined || attempt > 1) deps.keep?.(event, shownAttempt(made))
      if (attempts.length > MAX_IN_MEMORY)
        earlier = kept([...attempts.splice(0).toReversed().map(shownAttempt), ...earlier])
      reportTimer ??= setTimeout(() => void report().catch(deps.failed), REPORT_INTERVAL)
      return { reason, stays: wasOpen || isGone, isGone }
    },
  }
}

/** Notes that a replay was tried, and counts the event if the receiver accepted it. */
function countReplayed(replays: Report['replays'], round: number, isAccepted: boolean): void {
  let replay = replays.find((each) => each.round === round)
  if (!replay) {
    replay = { round, delivered: 0 }
    replays.unshift(replay)
    if (replays.length > MAX_REPLAYS) replays.pop()
  }
  if (isAccepted) replay.delivered++
}

/** The attempts that the report keeps. `all`: newest first. */
function kept(all: Report['attempts']): Report['attempts'] {
  const failed = all.slice(REPORTED).filter(({ reason }) => reason !== undefined)
  return [...all.slice(0, REPORTED), ...failed.slice(0, REPORTED_FAILURES)]
}

function shownAttempt({ answer: { retryAt: _, ...outcome }, ...attempt }: Attempt) {
  return { ...attempt, ...outcome }
}
