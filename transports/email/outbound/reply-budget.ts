import { hash } from 'node:crypto'
import { getDomain } from 'tldts'
import { withoutTag } from '../../../src/core/identity.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { DAY, formatDuration, MINUTE, type Rate } from '../../../src/core/units.ts'
import { updateKv } from '../../../src/core/update-kv.ts'
import { bareSubject } from '../inbound/subject.ts'
import type { EmailOptions } from '../options.ts'
import { isPublicDomain } from './public-domains.ts'
import {
  type Answer,
  type Counting,
  type Entry,
  EVERY_ANSWER,
  entriesSchema,
  HALVED_BY_QUICK,
  QUICK_ONLY,
  QUICK_TWICE,
  storedForm,
} from './reply-counting.ts'

/** A counter of answers. */
type Counter = {
  /** Its key in the store. */
  name: string
  rate: Rate
  /** The counted answers, for people: `to anna@example.net`. */
  what: string
  option: keyof EmailOptions['reply-budget']
  counting: Counting
}

/** How long a refused answer is remembered: about as long as its dead letter is worth retrying. */
const REFUSED_TTL_MS = 30 * DAY
/** Maximum characters of a subject in a description. */
const MAX_SUBJECT = 60

/** An exhausted budget. `wait`: ms until it has room for the refused answer. */
export type Exhausted = { wait: number; what: string; option: string }

/**
 * Limits automatic replies within a sliding window, over all daemons: per address, conversation,
 * thread, domain and gateway. Counts are in the store, so they survive restarts.
 */
export function createReplyBudget(
  options: Pick<EmailOptions, 'reply-budget' | 'address' | 'aliases'>,
  { kv, gateway, now, log }: Pick<TransportDeps, 'kv' | 'gateway' | 'now' | 'log'>,
) {
  const digest = (text: string) => hash('sha256', text, 'base64url').slice(0, 16)
  const ownDomains = new Set([options.address, ...options.aliases].map(domainOf))
  const exhausted = new Map<string, { until: number; option: string }>()

  const report = ({ what, option, rate }: Counter, wait: number) => {
    const isNew = (exhausted.get(what)?.until ?? 0) <= now()
    exhausted.set(what, { until: now() + wait, option: `reply-budget.${option}` })
    const limit = `${rate.count}/${formatDuration(rate.per)}`
    if (isNew)
      log.warn({ option: `reply-budget.${option}`, limit, wait }, `automatic replies ${what} are stopped`)
  }

  /**
   * Counts an answer and returns 0. At the limit, does not count it and returns the ms until it has
   * room.
   */
  const count = async ({ name, rate, counting }: Counter, answer: Answer): Promise<number> => {
    let wait = 0
    await updateKv(kv, `email/${gateway}/budget/${digest(name)}`, (stored) => {
      const entries = entriesSchema.parse(stored).filter(({ at }) => at > now() - rate.per)
      wait = waitFor(answer, entries, { rate, counting, now: now() })
      if (wait > 0) return undefined
      const { value } = counting.weigh(entries, answer, rate)
      const counted = counting.add(entries, { at: now(), value }, rate)
      return { value: storedForm(counted), ttl: rate.per }
    })
    return wait
  }

  return {
    /**
     * Counts an answer against all its budgets. Returns undefined, or the budget that is exhausted:
     * then the answer must not be sent. The same key counts once. An answer that was refused before
     * passes: it is a dead letter that a person has retried.
     */
    async take(answer: Answer): Promise<Exhausted | undefined> {
      const counters = countersFor(answer, options['reply-budget'], ownDomains)
      if (counters.length === 0) return undefined
      const countedKey = `email/${gateway}/counted/${digest(answer.key)}`
      const refusedKey = `email/${gateway}/over-budget/${digest(answer.key)}`
      const earlier = await Promise.all([kv.get(countedKey), kv.get(refusedKey)])
      if (earlier.some((record) => record !== undefined)) return undefined
      // Narrowest first, so that one robot does not use up shared budgets.
      for (const counter of counters) {
        const wait = await count(counter, answer)
        if (wait === 0) continue
        await kv.set(refusedKey, true, { ttl: REFUSED_TTL_MS })
        report(counter, wait)
        return { wait, what: counter.what, option: `reply-budget.${counter.option}` }
      }
      // For the longest period of a counter: after it, no counter has this answer any more.
      await kv.set(countedKey, true, { ttl: Math.max(...counters.map(({ rate }) => rate.per)) })
      return undefined
    },
    /** Descriptions of exhausted budgets known to this daemon. */
    exhausted(): string[] {
      for (const [what, { until }] of exhausted) if (until <= now()) exhausted.delete(what)
      return Array.from(
        exhausted,
        ([what, { until, option }]) =>
          `no automatic replies ${what} for ${minutes(until - now())} (${option})`,
      )
    },
  }
}

/**
 * How long (ms) until enough of the oldest entries have left the window to make room for an answer.
 * 0: there is room now.
 */
function waitFor(
  answer: Answer,
  entries: readonly Entry[],
  { rate, counting, now }: Pick<Counter, 'rate' | 'counting'> & { now: number },
): number {
  const hasRoomAfter = (leaving: number) => {
    const { used, limit } = counting.weigh(entries.slice(leaving), answer, rate)
    return used <= limit
  }
  if (hasRoomAfter(0)) return 0
  const lastToLeave = entries.find((_entry, index) => hasRoomAfter(index + 1))
  return lastToLeave ? Math.max(1, lastToLeave.at + rate.per - now) : rate.per
}

export function minutes(ms: number): string {
  return `${Math.ceil(ms / MINUTE)} min`
}

/** The counters of an answer, each once, without those that are off. */
function countersFor(
  answer: Answer,
  rates: EmailOptions['reply-budget'],
  ownDomains: ReadonlySet<string>,
): Counter[] {
  const { to, conversation, thread } = answer
  const domain = domainOf(to)
  const isShared = isPublicDomain(domain) || ownDomains.has(domain)
  const subject = bareSubject(answer.subject)
    .toLowerCase()
    .replaceAll(/[\d#\s]+/g, ' ')
    .trim()
  const all: (Omit<Counter, 'rate'> & { rate: Rate | 'off' })[] = [
    {
      option: 'address',
      rate: rates.address,
      name: withoutTag(to.toLowerCase()),
      what: `to ${to}`,
      counting: HALVED_BY_QUICK,
    },
    {
      option: 'conversation',
      rate: rates.conversation,
      name: conversation,
      what: `in ${conversation}`,
      counting: HALVED_BY_QUICK,
    },
    {
      option: 'thread',
      rate: rates.thread,
      name: thread,
      what: `in the thread of ${thread}`,
      counting: HALVED_BY_QUICK,
    },
    isShared
      ? // Thousands of users share a public domain, and colleagues share ours. Therefore only answers
        // count that follow each other as quickly as those of robots.
        {
          option: 'domain',
          rate: rates.domain,
          name: `domain ${domain} ${subject}`,
          what: `to ${domain} about “${subject.slice(0, MAX_SUBJECT)}”`,
          counting: QUICK_ONLY,
        }
      : {
          option: 'domain',
          rate: rates.domain,
          name: `domain ${domain}`,
          what: `to ${domain}`,
          counting: QUICK_TWICE,
        },
    {
      option: 'gateway',
      rate: rates.gateway,
      name: 'gateway',
      what: 'of this gateway',
      counting: EVERY_ANSWER,
    },
  ]
  const names = new Set<string>()
  return all.flatMap(({ rate, ...counter }) => {
    if (rate === 'off' || names.has(counter.name)) return []
    names.add(counter.name)
    return [{ ...counter, rate }]
  })
}

/** The registrable domain: `a.b.example.co.uk` becomes `example.co.uk`. */
function domainOf(address: string): string {
  const host = address.slice(address.lastIndexOf('@') + 1).toLowerCase()
  return getDomain(host) ?? host
}
