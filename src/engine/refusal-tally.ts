import type { KeptFits, Refused } from '../core/transport.ts'
import { DAY, HOUR } from '../core/units.ts'
import { defined } from '../lib/defined.ts'
import { addAt, isCounted, type Minutes, minutesAt, perMinute, sumSince } from './minute-counts.ts'

/** Maximum number of distinct senders and explanations per episode. */
const MOST_NAMES = 50
/** Maximum number of earlier episodes per reason. */
const MOST_EARLIER = 5
/** Number of refused deliveries in a row from which on a gateway counts as failing. */
export const FAILING_IN_A_ROW = 10

/**
 * The current episode of refusals of one gateway for one reason. An episode begins with the first
 * refusal after an hour without one, after a change of the gateway, and after an accepted delivery
 * that ended an outage. Single refusals between accepted deliveries are one episode. Times in Unix
 * ms.
 */
export type RefusalCount = {
  gateway: string
  reason: string
  /** Refusals within the last hour. */
  count: number
  /** The first refusal. */
  since: number
  last: number
  /** Deliveries that were accepted since `since`, within the last hour. */
  accepted: number
  /** Refused and accepted deliveries since `since`, even if that is over an hour ago. */
  total: { refused: number; accepted: number }
  /** When the gateway last accepted a delivery. */
  lastGoodAt?: number
  /** Refusals of this episode since `lastGoodAt`. */
  sinceGood: number
  /** Consecutive refusals, without an accepted delivery in between, up to the last one. */
  inARow: number
  /** Deliveries that were accepted since the last refusal. */
  acceptedAfter: number
  /** When the first of these was accepted, if no refusal for any reason came after it. */
  resumedAt?: number
  /** If the gateway was changed after the last refusal: when, and its deliveries since. */
  changed?: GatewayChange
  /** The last change of the gateway before the first refusal, and the deliveries from it until then. */
  changedBefore?: GatewayChange
  /** Earlier episodes of the last day, newest first. */
  earlier: EarlierEpisode[]
  /** Refused senders with a refusal in the last hour, most frequent first. */
  from: NameCount[]
  /** Explanations of the last hour, most frequent first. */
  why: NameCount[]
}

/** `count`: in the last hour; `total`: in the episode. */
export type NameCount = { name: string; count: number; total: number }

/** An episode that is over. `acceptedAfter`: deliveries until the next one. */
export type EarlierEpisode = { since: number; last: number; refused: number; acceptedAfter: number }

/**
 * A change of a gateway. `at` in Unix ms; `refused` for any reason. `kept`: the kept refused
 * deliveries that the new configuration would accept. `keptBefore`: those that the last good
 * configuration before it would accept.
 */
export type GatewayChange = {
  at: number
  accepted: number
  refused: number
  kept?: KeptFits
  keptBefore?: KeptFits
}

/** Accepted and refused deliveries in each minute of the last hour, oldest first. */
export type Traffic = { accepted: number[]; refused: number[]; lastGoodAt?: number }

/** `resumedAt`: the first accepted delivery after the last refusal. */
type Accepted = { minutes: Minutes; last: number; total: number; resumedAt?: number | undefined }
type Names = Map<string, { minutes: Minutes; total: number }>
type Episode = {
  minutes: Minutes
  refused: number
  /** Deliveries that were accepted before the episode. */
  acceptedBefore: number
  /** Deliveries that were accepted before the last refusal. */
  acceptedAtLast: number
  since: number
  last: number
  inARow: number
  /** The last change of the gateway before the first refusal. */
  changedBefore: GatewayChange | undefined
  from: Names
  why: Names
}
/** The refusals for one reason: all of the last hour, the current episode, and those before it. */
type Series = { minutes: Minutes; total: number; current: Episode; earlier: EarlierEpisode[] }
type Totals = { accepted: number; refused: number }

/** Counts refused and accepted deliveries per gateway, in memory. */
export function createRefusalTally(now: () => number) {
  const refused = new Map<string, Map<string, Series>>()
  const acceptedOf = new Map<string, Accepted>()
  /** The last change of each gateway, with its deliveries until then. */
  const changeOf = new Map<string, GatewayChange>()
  const seriesOf = (gateway: string) => [...(refused.get(gateway)?.values() ?? [])]
  const totalsOf = (gateway: string): Totals => ({
    accepted: acceptedOf.get(gateway)?.total ?? 0,
    refused: seriesOf(gateway).reduce((all, { total }) => all + total, 0),
  })

  return {
    /** Counts accepted deliveries. Called for each batch of them, so it must be cheap. */
    accepted(gateway: string, count = 1): void {
      if (count === 0) return
      const at = now()
      const known = acceptedOf.get(gateway) ?? { minutes: minutesAt(at), last: at, total: 0 }
      acceptedOf.set(gateway, known)
      known.last = at
      known.resumedAt ??= at
      known.total += count
      addAt(known.minutes, at, count)
    },
    refused(gateway: string, reason: string, what: Refused): void {
      const at = now()
      const accepted = interrupted(acceptedOf.get(gateway))
      const reasons = refused.get(gateway) ?? new Map<string, Series>()
      refused.set(gateway, reasons)
      const change = changeOf.get(gateway)
      const before = reasons.get(reason)
      const episode = () => newEpisode(at, accepted, change && sinceChange(change, totalsOf(gateway)))
      const series = before ?? newSeries(at, episode())
      reasons.set(reason, series)
      if (before && beginsNext(before.current, { at, accepted, change })) startNext(before, episode())
      countRefusal(series, { at, accepted, what })
    },
    /** Notes that a gateway has a new configuration, with which nothing was delivered yet. */
    changed(gateway: string): void {
      // A gateway that starts for the first time has no deliveries.
      if (acceptedOf.has(gateway) || refused.has(gateway))
        changeOf.set(gateway, { at: now(), ...totalsOf(gateway), ...keptBefore(changeOf.get(gateway)) })
    },
    /** Notes how many kept deliveries the configuration after the last change would accept. */
    keptFits(gateway: string, kept: KeptFits): void {
      const change = changeOf.get(gateway)
      if (change) change.kept = kept
    },
    /** Accepted and refused deliveries of a gateway, minute by minute, oldest first. */
    traffic(gateway: string): Traffic {
      const at = now()
      const accepted = acceptedOf.get(gateway)
      const zeros = perMinute(minutesAt(at), at)
      const counts = seriesOf(gateway).map(({ minutes }) => perMinute(minutes, at))
      return {
        accepted: accepted ? perMinute(accepted.minutes, at) : zeros,
        refused: zeros.map((_, index) => counts.reduce((total, each) => total + (each[index] ?? 0), 0)),
        ...(accepted && { lastGoodAt: accepted.last }),
      }
    },
    /** The current episodes of the last hour, by gateway and reason. */
    list(): RefusalCount[] {
      const at = now()
      return [...refused].flatMap(([gateway, reasons]) =>
        [...reasons].flatMap(([reason, known]): RefusalCount[] => {
          const { current } = known
          const count = sumSince(current.minutes, at, 0)
          if (count === 0) return []
          const change = changeOf.get(gateway)
          const isLater = change && isAfter(change, current)
          const changed = isLater ? sinceChange(change, totalsOf(gateway)) : undefined
          const earlier = known.earlier.filter(({ last }) => at - last < DAY)
          const figures = figuresOf(current, { counted: acceptedOf.get(gateway), at })
          return [{ gateway, reason, count, ...figures, ...defined({ changed }), earlier }]
        }),
      )
    },
  }
}

/** Notes a refusal after accepted deliveries; returns their number. */
function interrupted(known: Accepted | undefined): number {
  if (known) known.resumedAt = undefined
  return known?.total ?? 0
}

/** What the last configuration that fitted kept deliveries did with them, for the next change. */
function keptBefore(last: GatewayChange | undefined): Pick<GatewayChange, 'keptBefore'> {
  const { kept, keptBefore: earlier } = last ?? {}
  return defined({ keptBefore: kept && kept.fits > 0 ? kept : earlier })
}

/** Whether a refusal begins another episode. */
function beginsNext(
  current: Episode,
  { at, accepted, change }: { at: number; accepted: number; change: GatewayChange | undefined },
): boolean {
  const isRepaired = accepted > current.acceptedAtLast && current.inARow >= FAILING_IN_A_ROW
  return isRepaired || (change !== undefined && isAfter(change, current)) || at - current.last > HOUR
}

/** Whether a change came after the last refusal of an episode. */
function isAfter(change: GatewayChange, { last, changedBefore }: Episode): boolean {
  return change.at >= last && change.at !== changedBefore?.at
}

/** Closes the current episode, and starts the next. */
function startNext(known: Series, next: Episode): void {
  const { since, last, refused, acceptedAtLast } = known.current
  const acceptedAfter = next.acceptedBefore - acceptedAtLast
  known.earlier = [{ since, last, refused, acceptedAfter }, ...known.earlier].slice(0, MOST_EARLIER)
  known.current = next
}

function countRefusal(
  known: Series,
  { at, accepted, what: { from, why } }: { at: number; accepted: number; what: Refused },
): void {
  const { current } = known
  current.inARow = accepted > current.acceptedAtLast ? 1 : current.inARow + 1
  current.acceptedAtLast = accepted
  current.last = at
  current.refused++
  known.total++
  addAt(current.minutes, at, 1)
  addAt(known.minutes, at, 1)
  countName(current.from, at, from)
  countName(current.why, at, why)
}

/** The numbers of an episode, and of its gateway since. */
function figuresOf(current: Episode, { counted, at }: { counted: Accepted | undefined; at: number }) {
  const { since, last, inARow, changedBefore } = current
  const all = counted?.total ?? 0
  const acceptedAfter = all - current.acceptedAtLast
  const accepted = all - current.acceptedBefore
  const recent = counted && counted.last >= since ? sumSince(counted.minutes, at, since) : 0
  return {
    since,
    last,
    // The first minute may have deliveries from before the episode.
    accepted: isCounted(since, at) ? accepted : recent,
    total: { refused: current.refused, accepted },
    sinceGood: acceptedAfter > 0 ? 0 : inARow,
    inARow,
    acceptedAfter,
    ...defined({
      changedBefore,
      lastGoodAt: counted?.last,
      resumedAt: acceptedAfter > 0 ? counted?.resumedAt : undefined,
    }),
    from: sorted(current.from, at),
    why: sorted(current.why, at),
  }
}

function newSeries(at: number, current: Episode): Series {
  return { minutes: minutesAt(at), total: 0, current, earlier: [] }
}

function newEpisode(at: number, accepted: number, changedBefore: GatewayChange | undefined): Episode {
  const names: { from: Names; why: Names } = { from: new Map(), why: new Map() }
  const counts = { refused: 0, inARow: 0, acceptedBefore: accepted, acceptedAtLast: accepted }
  return { minutes: minutesAt(at), ...counts, since: at, last: at, changedBefore, ...names }
}

/** A change with the deliveries since, from all until now. */
function sinceChange(change: GatewayChange, totals: Totals): GatewayChange {
  const accepted = totals.accepted - change.accepted
  return { ...change, accepted, refused: totals.refused - change.refused }
}

function countName(names: Names, at: number, name = 'unknown'): void {
  let known = names.get(name)
  if (!known) {
    if (names.size >= MOST_NAMES) removeOld(names, at)
    if (names.size >= MOST_NAMES) return
    known = { minutes: minutesAt(at), total: 0 }
    names.set(name, known)
  }
  known.total++
  addAt(known.minutes, at, 1)
}

/** Removes names without a refusal in the last hour. */
function removeOld(names: Names, at: number): void {
  for (const [name, { minutes }] of names) if (sumSince(minutes, at, 0) === 0) names.delete(name)
}

function sorted(names: Names, at: number): NameCount[] {
  return [...names]
    .map(([name, { minutes, total }]) => ({ name, count: sumSince(minutes, at, 0), total }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count)
}
