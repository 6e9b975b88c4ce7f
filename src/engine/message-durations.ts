import { attemptsIn } from '../core/attempt-range.ts'
import { isJsonObject } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Note, Store } from '../core/store.ts'
import { DAY } from '../core/units.ts'
import { defined } from '../lib/defined.ts'
import { quantileOf } from '../lib/quantile.ts'
import { WAITS_FOR_SKILL } from './dispatch-outcomes.ts'
import type { createHistogram } from './histogram.ts'
import type { messages } from './operations/messages.ts'
import { searchOf } from './search.ts'

/** Maximum number of messages whose histories are read; more are sampled. */
const MAX_EXAMINED = 400
/** Approximate number of time spans. The sample is spread evenly over them. */
const SPANS = 20
/** Approximate duration (ms) of a call. */
const CALL_TIME = 5_000

type CountMessages = ReturnType<typeof createHistogram>['countMessages']
type Args = Parameters<CountMessages>
type Service = ServiceOf<typeof messages>['durations']

/**
 * `message-durations`. Times in ms; absent if no attempt has ended. `waited`: from the arrival to
 * the first attempt, without the time of pauses that have ended. `ran`: of each ended attempt,
 * except cancelled ones. `examined`: the messages that this is about, of the `total` that arrived
 * since `from`; each time span has its share. `retried` of `retriedOf`
 * messages needed more than one attempt: all messages, unless counting takes too long.
 */
export function createMessageDurations(deps: {
  store: { journal: Pick<Store['journal'], 'search' | 'history'> }
  countMessages: CountMessages
  heldFor(job: { id: string; lane: string; group: string }, from: number, to: number): number
  now(): number
}): Service {
  const { countMessages, now } = deps
  const { journal } = deps.store

  /** The newest `share` of the messages of a span. */
  const newest = async (search: Parameters<typeof journal.search>[0], deadline: number) => {
    const found: Message[] = []
    let before: string | undefined
    do {
      const page = await journal.search({ ...search, before, limit: search.limit - found.length })
      found.push(...page.found.map(({ message }) => message))
      before = page.next
    } while (before !== undefined && found.length < search.limit && performance.now() < deadline)
    return found
  }

  /** All messages that needed more than one attempt; undefined if counting takes too long. */
  const countRetried = async (filter: Omit<Args[0], 'buckets'>, call: Args[1]) => {
    const counted = await countMessages({ ...filter, attempts: { min: 2 }, buckets: 1 }, call)
    return counted.countedTo === undefined && counted.away === undefined ? counted.total : undefined
  }

  return async ({ since = now() - DAY, until = now(), ...filter }, call) => {
    const deadline = performance.now() + CALL_TIME
    const range = { since, until: Math.min(until, now()) }
    const { width, counts, total, countedTo, away, ...counted } = await countMessages(
      { ...filter, ...range, buckets: SPANS },
      call,
    )
    const query = searchOf(filter, call.caller)
    const from = Math.max(since, countedTo ?? counted.from)
    const share = Math.min(1, MAX_EXAMINED / Math.max(1, total))
    const measured = createMeasurement(deps.heldFor)
    // Newest first: these are complete if the time of the call ends.
    for (const [index, many] of [...counts.entries()].reverse()) {
      const begin = counted.from + index * width
      if (many === 0 || performance.now() > deadline) continue
      const span = { since: Math.max(from, begin), until: Math.min(range.until, begin + width) }
      const limit = Math.ceil(many * share)
      const found = await newest({ ...query, ...span, limit, isPartial: true }, deadline)
      const histories = await Promise.all(found.map(({ id }) => journal.history(id)))
      for (const [at, message] of found.entries()) measured.add(message, histories[at] ?? [])
    }
    const isSample = measured.result().examined < total
    const retried = isSample
      ? await countRetried({ ...filter, since: from, until: range.until }, call)
      : undefined
    return {
      from,
      to: range.until,
      total,
      ...measured.result(),
      ...(retried !== undefined && { retried, retriedOf: total }),
      ...defined({ away }),
    }
  }
}

/** Collects the times of messages. */
function createMeasurement(heldFor: Parameters<typeof createMessageDurations>[0]['heldFor']) {
  const waited: number[] = []
  const ran: number[] = []
  let examined = 0
  let retried = 0
  return {
    add(message: Message, history: readonly Note[]): void {
      examined++
      const attempts = history.flatMap(attemptIn)
      const [first] = attempts
      if (first && first.attempt === 1 && !waitedDuringRun(history)) {
        const started = first.endedAt - first.ms
        const lane = `${message.gateway}/${message.conversation}`
        const held = heldFor({ id: message.id, lane, group: first.route }, message.receivedAt, started)
        waited.push(Math.max(0, started - message.receivedAt - held))
      }
      ran.push(...attempts.flatMap(({ ms, isRun }) => (isRun ? ms : [])))
      if (attemptsIn(history) > 1) retried++
    },
    result: () => ({
      examined,
      retried,
      retriedOf: examined,
      ...defined({ waited: summaryOf(waited), ran: summaryOf(ran) }),
    }),
  }
}

/** Notes of dispatch that end an attempt. An approval ends one that did not run yet. */
const ENDS = new Set(['done', 'failed', 'dead', 'waits for an approval'])
/** The code of an attempt that a person cancelled. */
const CANCELLED = 'run_cancelled'

/** The attempt that a note ended, if it did. */
function attemptIn({ at, road, what, detail }: Note) {
  if (road !== 'dispatch' || !ENDS.has(what) || !isJsonObject(detail)) return []
  const { attempt, ms, route, code } = detail
  if (typeof attempt !== 'number' || typeof ms !== 'number') return []
  const isRun = code !== CANCELLED && what !== 'waits for an approval'
  return [{ endedAt: at, attempt, ms, route: String(route), isRun }]
}

/**
 * Whether a message waited for a budget or for a paused skill that its run called. That does not count
 * as a wait in the lane.
 */
function waitedDuringRun(history: readonly Note[]): boolean {
  return history.some(
    ({ road, what }) => road === 'dispatch' && (what === 'waits for its budget' || what === WAITS_FOR_SKILL),
  )
}

function summaryOf(times: readonly number[]): { p50: number; p95: number } | undefined {
  const [p50, p95] = [quantileOf(times, 0.5), quantileOf(times, 0.95)]
  return p50 === undefined || p95 === undefined ? undefined : { p50, p95 }
}
