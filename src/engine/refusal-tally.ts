import type { Refused } from '../core/transport.ts'

/** Refused and accepted deliveries are counted per minute, for an hour. */
const MINUTE = 60_000
const MINUTES = 60
/** Maximum number of distinct senders and explanations per reason. */
const MOST_NAMES = 50

/** The refusals of one gateway for one reason within the last hour. Times in Unix ms. */
export type RefusalCount = {
  gateway: string
  reason: string
  count: number
  /** The first refusal of a series without a gap of an hour. */
  since: number
  last: number
  /** Deliveries that were accepted since `since`, within the last hour. */
  accepted: number
  /** Refused and accepted deliveries since `since`, even if that is over an hour ago. */
  total: { refused: number; accepted: number }
  /** When the gateway last accepted a delivery. */
  lastGoodAt?: number
  /** Refusals of this series since `lastGoodAt`. */
  sinceGood: number
  /** Consecutive refusals, without an accepted delivery in between, up to the last one. */
  inARow: number
  /** Deliveries that were accepted since the last refusal. */
  acceptedAfter: number
  /** If the gateway was changed after the last refusal: when, and its deliveries since. */
  changed?: GatewayChange
  /** Refused senders of the last hour, most frequent first. */
  from: { name: string; count: number }[]
  /** Explanations of the last hour, most frequent first. */
  why: { name: string; count: number }[]
}

/** A change of a gateway. `at` in Unix ms; `refused` for any reason. */
export type GatewayChange = { at: number; accepted: number; refused: number }

/** Accepted and refused deliveries in each minute of the last hour, oldest first. */
export type Traffic = { accepted: number[]; refused: number[]; lastGoodAt?: number }

type Minutes = { counts: Float64Array; minute: number }
type Accepted = { minutes: Minutes; last: number; total: number }
type Refusals = {
  minutes: Minutes
  /** All refusals of the series. */
  total: number
  /** Deliveries that were accepted before the series. */
  acceptedBefore: number
  /** Deliveries that were accepted before the last refusal. */
  acceptedAtLast: number
  since: number
  last: number
  inARow: number
  /** The change of the gateway after the last refusal, with its deliveries until then. */
  changed?: GatewayChange | undefined
  from: Map<string, Minutes>
  why: Map<string, Minutes>
}

/** Counts refused and accepted deliveries per gateway, in memory. */
export function createRefusalTally(now: () => number) {
  const refused = new Map<string, Map<string, Refusals>>()
  const acceptedOf = new Map<string, Accepted>()
  const seriesOf = (gateway: string) => [...(refused.get(gateway)?.values() ?? [])]
  const totalsOf = (gateway: string) => ({
    accepted: acceptedOf.get(gateway)?.total ?? 0,
    refused: seriesOf(gateway).reduce((all, { total }) => all + total, 0),
  })

  return {
    /** Counts accepted deliveries. Called for each batch of them, so it must be cheap. */
    accepted(gateway: string, count = 1): void {
      if (count === 0) return
      const at = now()
      let known = acceptedOf.get(gateway)
      if (!known) {
        known = { minutes: minutesAt(at), last: at, total: 0 }
        acceptedOf.set(gateway, known)
      }
      known.last = at
      known.total += count
      add(known.minutes, at, count)
    },
    refused(gateway: string, reason: string, { from, why }: Refused): void {
      const at = now()
      const reasons = refused.get(gateway) ?? new Map<string, Refusals>()
      refused.set(gateway, reasons)
      let known = reasons.get(reason)
      if (!known || at - known.last > MINUTES * MINUTE) {
        known = newSeries(at, acceptedOf.get(gateway)?.total ?? 0)
        reasons.set(reason, known)
      }
      const accepted = acceptedOf.get(gateway)?.total ?? 0
      known.inARow = accepted > known.acceptedAtLast ? 1 : known.inARow + 1
      known.acceptedAtLast = accepted
      known.last = at
      known.total++
      known.changed = undefined
      add(known.minutes, at, 1)
      countName(known.from, at, from)
      countName(known.why, at, why)
    },
    /** Notes that a gateway has a new configuration, with which nothing was delivered yet. */
    changed(gateway: string): void {
      const change = { at: now(), ...totalsOf(gateway) }
      for (const known of seriesOf(gateway)) known.changed = change
    },
    /** Accepted and refused deliveries of a gateway, minute by minute, oldest first. */
    traffic(gateway: string): Traffic {
      const at = now()
      const accepted = acceptedOf.get(gateway)
      const reasons = seriesOf(gateway)
      const zeros = series(minutesAt(at), at)
      const perMinute = reasons.map(({ minutes }) => series(minutes, at))
      return {
        accepted: accepted ? series(accepted.minutes, at) : zeros,
        refused: zeros.map((_, index) =>
          perMinute.reduce((total, counts) => total + (counts[index] ?? 0), 0),
        ),
        ...(accepted && { lastGoodAt: accepted.last }),
      }
    },
    /** Refusals of the last hour, by gateway and reason. */
    list(): RefusalCount[] {
      const at = now()
      return [...refused].flatMap(([gateway, reasons]) =>
        [...reasons].flatMap(([reason, known]): RefusalCount[] => {
          const count = sum(known.minutes, at, 0)
          if (count === 0) return []
          const figures = figuresOf(known, { counted: acceptedOf.get(gateway), at })
          const changed = known.changed && { changed: sinceChange(known.changed, totalsOf(gateway)) }
          return [{ gateway, reason, count, ...figures, ...changed }]
        }),
      )
    },
  }
}

/** The numbers of one series of refusals, and of its gateway since. */
function figuresOf(known: Refusals, { counted, at }: { counted: Accepted | undefined; at: number }) {
  const { since, last, inARow } = known
  const all = counted?.total ?? 0
  const acceptedAfter = all - known.acceptedAtLast
  return {
    since,
    last,
    accepted: counted !== undefined && counted.last >= since ? sum(counted.minutes, at, since) : 0,
    total: { refused: known.total, accepted: all - known.acceptedBefore },
    sinceGood: acceptedAfter > 0 ? 0 : inARow,
    inARow,
    acceptedAfter,
    ...(counted && { lastGoodAt: counted.last }),
    from: sorted(known.from, at),
    why: sorted(known.why, at),
  }
}

function newSeries(at: number, accepted: number): Refusals {
  const names = { from: new Map<string, Minutes>(), why: new Map<string, Minutes>() }
  const counts = { total: 0, inARow: 0, acceptedBefore: accepted, acceptedAtLast: accepted }
  return { minutes: minutesAt(at), ...counts, since: at, last: at, ...names }
}

/** A change with the deliveries since, from all until now. */
function sinceChange(
  { at, accepted, refused }: GatewayChange,
  totals: { accepted: number; refused: number },
): GatewayChange {
  return { at, accepted: totals.accepted - accepted, refused: Math.max(0, totals.refused - refused) }
}

function minutesAt(at: number): Minutes {
  return { counts: new Float64Array(MINUTES), minute: Math.floor(at / MINUTE) }
}

/** Advances to the minute of `at`, and clears the minutes in between. */
function move(minutes: Minutes, at: number): void {
  const minute = Math.floor(at / MINUTE)
  if (minute <= minutes.minute) return
  const passed = Math.min(MINUTES, minute - minutes.minute)
  for (let step = 1; step <= passed; step++) minutes.counts[(minutes.minute + step) % MINUTES] = 0
  minutes.minute = minute
}

function add(minutes: Minutes, at: number, count: number): void {
  move(minutes, at)
  const index = minutes.minute % MINUTES
  minutes.counts[index] = (minutes.counts[index] ?? 0) + count
}

/** Sum over the last hour, from the minute of `since`. */
function sum(minutes: Minutes, at: number, since: number): number {
  move(minutes, at)
  const oldest = Math.max(minutes.minute - MINUTES + 1, Math.floor(since / MINUTE))
  let total = 0
  for (let minute = oldest; minute <= minutes.minute; minute++) total += minutes.counts[minute % MINUTES] ?? 0
  return total
}

/** The counts of the last hour, oldest first. */
function series(minutes: Minutes, at: number): number[] {
  move(minutes, at)
  return Array.from(
    { length: MINUTES },
    (_, index) => minutes.counts[(minutes.minute + 1 + index) % MINUTES] ?? 0,
  )
}

function countName(names: Map<string, Minutes>, at: number, name = 'unknown'): void {
  let minutes = names.get(name)
  if (!minutes) {
    if (names.size >= MOST_NAMES) removeOld(names, at)
    if (names.size >= MOST_NAMES) return
    minutes = minutesAt(at)
    names.set(name, minutes)
  }
  add(minutes, at, 1)
}

/** Removes names without a refusal in the last hour. */
function removeOld(names: Map<string, Minutes>, at: number): void {
  const minute = Math.floor(at / MINUTE)
  for (const [name, minutes] of names) if (minute - minutes.minute >= MINUTES) names.delete(name)
}

function sorted(names: ReadonlyMap<string, Minutes>, at: number) {
  return [...names]
    .map(([name, minutes]) => ({ name, count: sum(minutes, at, 0) }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count)
}
