import type { Trouble } from '../../core/trouble.ts'
import { HOUR, MINUTE } from '../../core/units.ts'
import type { GatewayChange, RefusalCount } from '../../engine/refusal-tally.ts'
import { counted } from '../../lib/counted.ts'
import {
  deliveriesIn,
  failedChangeOf,
  type RefusalCause,
  type RefusalVerdict,
  verdictOf,
} from './refusal-verdicts.ts'
import { placeText, type SecretsOf } from './secret-places.ts'
import { dayAndTime, error, info, timeOfDay, warning } from './trouble-parts.ts'

/** This number of refusals per hour is a trouble. */
const MANY = 10
/**
 * If deliveries are accepted again, the trouble stays for this long (ms) after the last refusal.
 */
const CALM = 15 * MINUTE
/** This number of refusals per hour is a trouble if nothing else is accepted. */
const FEW = 3
/**
 * Reasons that are no trouble: intended refusals of senders, noise of scanners, a daemon that
 * stops, and those covered by `store-down`. The alert `TriviumRefuses` ignores them too.
 */
const IGNORED = /^(sender|authentication|method_not_allowed|stopping|store_unavailable)$/

/**
 * Refusals that need attention, grouped by gateway and reason. `at`: Unix ms. `secretsOf`: if the
 * secret is wrong, the advice says where it is configured.
 */
export function refusalTroubles(
  counts: readonly RefusalCount[],
  at: number,
  secretsOf?: SecretsOf,
): Trouble[] {
  return counts
    .filter(({ reason }) => !IGNORED.test(reason))
    .map(verdictOf)
    .filter(isMany)
    .filter(({ sinceGood, last, cause }) => {
      return sinceGood > 0 || cause === 'failed-change' || at - last < CALM
    })
    .map((verdict) => refusalTrouble(verdict, at, secretsOf))
}

function isMany(verdict: RefusalVerdict): boolean {
  const { count, share, earlier } = verdict
  if (count >= MANY || (count >= FEW && share === 1)) return true
  // A change that did not end an outage: the first refusal says so.
  return failedChangeOf(verdict) !== undefined && earlier.some(({ refused }) => refused >= MANY)
}

/** Causes for which somebody has to act if all deliveries are refused. */
const NEED_ACTION = new Set<RefusalCause>(['rotated-secret', 'wrong-secret', 'failed-change', 'clock-skew'])

/**
 * Adds `refuses`, such as `every delivery`, to gateways that work but refuse deliveries, `changed`
 * to those that were changed since and accepted nothing yet, and `recovered` to those that accept
 * deliveries again. `troubles`: all current ones. `counts`: with these, `changed` and `recovered`
 * stay as long as the refusals are counted, which is longer than their trouble.
 */
export function withRefusals<T extends { name: string; ok: boolean }>(
  gateways: readonly T[],
  troubles: readonly Trouble[],
  counts: readonly RefusalCount[] = [],
): (T & { refuses?: string; changed?: string; recovered?: string })[] {
  return gateways.map((gateway) => {
    const prefix = titleOf(gateway.name, '')
    const title = troubles.find((trouble) => {
      const isOfIt = trouble.code === 'refusals' && trouble.where.gateway === gateway.name
      return isOfIt && trouble.title.startsWith(prefix)
    })?.title
    if (!gateway.ok) return gateway
    if (title) return { ...gateway, refuses: title.slice(prefix.length) }
    const own = counts.filter((each) => each.gateway === gateway.name)
    if (own.some(isChanged)) return { ...gateway, changed: CHANGED }
    const again = againTitle(gateway.name)
    const hasRecovered = troubles.some((trouble) => trouble.title === again) || own.some(isRepaired)
    return hasRecovered ? { ...gateway, recovered: RECOVERED } : gateway
  })
}

/** Whether a gateway refused much within the last hour, and accepts deliveries since. */
function isRepaired(count: RefusalCount): boolean {
  const verdict = verdictOf(count)
  return !IGNORED.test(count.reason) && isMany(verdict) && verdict.cause === 'recovered'
}

/** Whether a gateway was changed after its last refusal, and accepted nothing since. */
function isChanged(count: RefusalCount): boolean {
  return !IGNORED.test(count.reason) && verdictOf(count).cause === 'changed'
}

function titleOf(gateway: string, deliveries: string): string {
  return `Gateway ${gateway} refuses ${deliveries}`
}

function refusalTrouble(verdict: RefusalVerdict, at: number, secretsOf?: SecretsOf): Trouble {
  const { gateway, reason, count, share, lastGoodAt, likely, cause, changed } = verdict
  const todo = withPlace(verdict, secretsOf)
  // What was accepted before a change that does not fit says nothing about the deliveries since.
  const failedAt = share < 1 && cause === 'failed-change' ? changed?.at : undefined
  const presentShare = failedAt === undefined ? share : 1
  const since = failedAt ?? verdict.since
  const isForNoGateway = cause === 'mistyped-address'
  const title = isForNoGateway
    ? `${counted(count, 'request')} for paths without a gateway`
    : titleOf(gateway, shareText(presentShare))
  const seen = seenText(verdict, at)
  const where = { gateway, reason }
  if (cause === 'recovered') {
    const text = `${againText(verdict)} ${seen} ${likely}`
    const { last, resumedAt = lastGoodAt ?? last } = verdict
    return info('refusals', where, { title: againTitle(gateway), text, todo, count, since: resumedAt })
  }
  if (changed && cause === 'changed') {
    const text = [changedText(changed), ...(changed.kept ? [likely] : []), seen].join(' ')
    return info('refusals', where, {
      title: `Gateway ${gateway} was ${CHANGED}`,
      text,
      todo,
      count,
      since: changed.at,
    })
  }
  const lastGood = isForNoGateway ? [] : lastGoodText(lastGoodAt)
  const text = [seen, ...changeText(verdict), ...earlierText(verdict), ...lastGood, likely].join(' ')
  const make = NEED_ACTION.has(cause) && presentShare === 1 ? error : warning
  return make('refusals', where, { title, text, todo, count, since })
}

/** The advice; if the secret is wrong, with the setting and variable that have it. */
function withPlace({ gateway, cause, todo }: RefusalVerdict, secretsOf?: SecretsOf): string {
  const isAboutSecret = cause === 'rotated-secret' || cause === 'wrong-secret' || cause === 'failed-change'
  const place = isAboutSecret ? placeText(gateway, secretsOf?.(gateway) ?? []) : ''
  // The place comes first: where there is little space, the text is cut.
  const compare =
    cause === 'failed-change'
      ? 'Compare the one that was set last with that of the sender.'
      : 'Compare it with that of the sender; it can list both the old and the new one.'
  return place === '' ? todo : `${place} ${compare}`
}

const RECOVERED = 'accepts deliveries again'
const CHANGED = 'changed, and has accepted nothing since'

function againTitle(gateway: string): string {
  return `Gateway ${gateway} ${RECOVERED}`
}

function changedText({ at, refused }: GatewayChange): string {
  const since =
    refused > 0
      ? `${counted(refused, 'other delivery', 'other deliveries')} refused since`
      : 'nothing was delivered since'
  return `It was changed at ${timeOfDay(at)}, after the last refusal; ${since}.`
}

function againText({ last, lastGoodAt = last }: RefusalVerdict): string {
  return `The last refusal was at ${timeOfDay(last)}, the last accepted delivery at ${timeOfDay(lastGoodAt)}.`
}

/** How many were refused since the refusals began, how many of them in the last hour, and why. */
function seenText(verdict: RefusalVerdict, at: number): string {
  const { gateway, reason, count, total, since, why, cause, endedAt } = verdict
  const all = counted(deliveriesIn(verdict), 'delivery', 'deliveries')
  const refused =
    cause === 'mistyped-address' ? counted(total.refused, 'request') : `${total.refused} of ${all}`
  const isLonger = at - since > HOUR
  const start = isLonger ? dayAndTime(since) : timeOfDay(since)
  const period = endedAt === undefined ? `since ${start}` : `from ${start} to ${timeOfDay(endedAt)}`
  const recent = isLonger ? `, ${count} in the last hour` : ''
  const details = withoutGateway(why[0]?.name ?? 'no reason given', gateway)
  return withPeriod(`${refused} ${period} refused${recent} (${reason}): ${details}`)
}

/** The episode before this one. */
function earlierText({ earlier: [before] }: RefusalVerdict): string[] {
  if (!before) return []
  const { since, last, refused, acceptedAfter } = before
  const period = `from ${timeOfDay(since)} to ${timeOfDay(last)}`
  return [`Before that: ${refused} refused ${period}, then ${acceptedAfter} accepted.`]
}

/** When the gateway was changed, if the change did not help. */
function changeText(verdict: RefusalVerdict): string[] {
  const change = verdict.cause === 'failed-change' && (verdict.changed ?? failedChangeOf(verdict))
  return change ? [`It was changed at ${timeOfDay(change.at)}.`] : []
}

/** Empty if no delivery was ever accepted: then the likely cause says so. */
function lastGoodText(lastGoodAt: number | undefined): string[] {
  if (lastGoodAt === undefined) return []
  return [`The last accepted delivery was on ${dayAndTime(lastGoodAt)}.`]
}

/** The reason without the gateway, which is in the title. */
function withoutGateway(why: string, gateway: string): string {
  return why.replace(`The signature check of gateway ${gateway} failed: `, '')
}

/** The share in words, so that the title does not change with each delivery. */
function shareText(share: number): string {
  if (share === 1) return 'every delivery'
  return share >= 0.5 ? 'most deliveries' : 'some deliveries'
}

function withPeriod(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
