import { hash } from 'node:crypto'
import { getDomain } from 'tldts'
import { z } from 'zod'
import { withoutTag } from '../../../src/core/identity.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { DAY, formatDuration, MINUTE, type Rate } from '../../../src/core/units.ts'
import { updateKv } from '../../../src/core/update-kv.ts'
import { bareSubject } from '../inbound/subject.ts'
import type { EmailOptions } from '../options.ts'
import { MIN_ANSWER_MS } from '../reply-target.ts'
import { isPublicDomain } from './public-domains.ts'

/** An automatic reply to be sent. `at`: date of the answered mail (Unix ms). */
type Answer = {
  key: string
  to: string
  subject: string
  conversation: string
  thread: string
  at: number
  /** Whether the mail answers one of ours so soon that a robot may have written it. */
  quick: boolean
}

/** A counter of answers. */
type Counter = {
  /** Its key in the store. */
  name: string
  rate: Rate
  /** The counted answers, for people: `to anna@example.net`. */
  what: string
  option: keyof EmailOptions['reply-budget']
  weigh: Weigh
}

/** A counted answer: time (Unix ms), hash of its key, and a value that depends on the counter. */
type Entry = [at: number, key: string, value: number]
/**
 * Computes the use and the limit of a counter with one more answer, and the value to store for that
 * answer.
 */
type Weigh = (
  entries: readonly Entry[],
  answer: Answer,
  rate: Rate,
) => { used: number; limit: number; value: number }

const entriesSchema = z
  .array(z.tuple([z.number(), z.string(), z.union([z.number(), z.boolean().transform(Number)])]))
  .catch([])

/** How long a refused answer is remembered: about as long as its dead letter is worth retrying. */
const REFUSED_TTL_MS = 30 * DAY
/** The limit that quick answers leave, because people can be quick too. */
const MIN_LIMIT = 3
/** Tolerance for the dates of mails, which have whole seconds, and for clock differences. */
const CLOCK_TOLERANCE_MS = 2_000
/** Number of entries of a gateway's counter: answers are added up, which bounds its size. */
const GATEWAY_ENTRIES = 60
/** Maximum characters of a subject in a description. */
const MAX_SUBJECT = 60

/** An exhausted budget. `wait`: ms until it has room again. */
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
  const exhausted = new Map<string, { until: number; text: string }>()

  const report = ({ what, option, rate }: Counter, wait: number) => {
    const until = now() + wait
    const isNew = (exhausted.get(what)?.until ?? 0) <= now()
    exhausted.set(what, {
      until,
      text: `no automatic replies ${what} for ${minutes(wait)} (reply-budget.${option})`,
    })
    const limit = `${rate.count}/${formatDuration(rate.per)}`
    if (isNew)
      log.warn({ option: `reply-budget.${option}`, limit, wait }, `automatic replies ${what} are stopped`)
  }

  /** Counts an answer, unless the counter is at its limit (`wait` > 0, in ms) or has already counted it. */
  const count = async (
    counter: Counter,
    answer: Answer,
  ): Promise<{ wait: number; isAlreadyCounted: boolean }> => {
    const { name, rate, weigh } = counter
    const key = digest(answer.key)
    let wait = 0
    let isAlreadyCounted = false
    await updateKv(kv, `email/${gateway}/budget/${digest(name)}`, (stored) => {
      const entries = entriesSchema.parse(stored).filter(([at]) => at > now() - rate.per)
      isAlreadyCounted = entries.some(([, each]) => each === key)
      wait = 0
      if (isAlreadyCounted) return undefined
      const { used, limit, value } = weigh(entries, answer, rate)
      const [oldest] = entries
      if (used > limit && oldest) wait = Math.max(1, oldest[0] + rate.per - now())
      return wait > 0 ? undefined : { value: withEntry(entries, [now(), key, value], counter), ttl: rate.per }
    })
    return { wait, isAlreadyCounted }
  }

  return {
    /**
     * Counts an answer against all its budgets. Returns undefined, or the exhausted budget. The
     * same key counts once. An answer that was refused before passes: it is a dead letter that a
     * person has retried.
     */
    async take(answer: Answer): Promise<Exhausted | undefined> {
      const refusedKey = `email/${gateway}/over-budget/${digest(answer.key)}`
      const counters = countersFor(answer, options['reply-budget'], ownDomains)
      if (counters.length === 0 || (await kv.get(refusedKey))) return undefined
      // Narrowest first, so that one robot does not use up shared budgets.
      for (const counter of counters) {
        const { wait, isAlreadyCounted } = await count(counter, answer)
        if (isAlreadyCounted) return undefined
        if (wait === 0) continue
        await kv.set(refusedKey, true, { ttl: REFUSED_TTL_MS })
        report(counter, wait)
        return { wait, what: counter.what, option: `reply-budget.${counter.option}` }
      }
      return undefined
    },
    /** Descriptions of exhausted budgets known to this daemon. */
    exhausted(): string[] {
      for (const [what, { until }] of exhausted) if (until <= now()) exhausted.delete(what)
      return [...exhausted.values()].map(({ text }) => text)
    },
  }
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
      weigh: halvedByQuick,
    },
    {
      option: 'conversation',
      rate: rates.conversation,
      name: conversation,
      what: `in ${conversation}`,
      weigh: halvedByQuick,
    },
    {
      option: 'thread',
      rate: rates.thread,
      name: thread,
      what: `in the thread of ${thread}`,
      weigh: halvedByQuick,
    },
    isShared
      ? // Public domains have thousands of users, so only robot-like answers count.
        {
          option: 'domain',
          rate: rates.domain,
          name: `domain ${domain} ${subject}`,
          what: `to ${domain} about “${subject.slice(0, MAX_SUBJECT)}”`,
          weigh: quickOnly,
        }
      : {
          option: 'domain',
          rate: rates.domain,
          name: `domain ${domain}`,
          what: `to ${domain}`,
          weigh: quickTwice,
        },
    { option: 'gateway', rate: rates.gateway, name: 'gateway', what: 'of this gateway', weigh: everyAnswer },
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

/** Each quick answer halves the limit. */
const halvedByQuick: Weigh = (entries, { quick }, { count }) => {
  const quickCount = entries.filter(([, , isQuick]) => isQuick > 0).length + (quick ? 1 : 0)
  const limit = Math.min(count, Math.max(MIN_LIMIT, Math.floor(count / 2 ** quickCount)))
  return { used: entries.length + 1, limit, value: quick ? 1 : 0 }
}

/** Counts a mail twice if it immediately follows our answer to the same domain, as robots do. */
const quickTwice: Weigh = (entries, answer, { count }) => {
  const value = isQuick(entries, answer) ? 2 : 1
  return { used: sum(entries) + value, limit: count, value }
}

/** Counts only mails that immediately follow our answer to the same domain. */
const quickOnly: Weigh = (entries, answer, { count }) => {
  const value = isQuick(entries, answer) ? 1 : 0
  return { used: sum(entries) + value, limit: count, value }
}

const everyAnswer: Weigh = (entries, _answer, { count }) => ({
  used: sum(entries) + 1,
  limit: count,
  value: 1,
})

/** Whether the answered mail was written too soon after our last answer for a person. */
function isQuick(entries: readonly Entry[], { at }: Answer): boolean {
  const last = entries.at(-1)?.[0]
  return last !== undefined && at > last - CLOCK_TOLERANCE_MS && at < last + MIN_ANSWER_MS
}

function sum(entries: readonly Entry[]): number {
  return entries.reduce((total, [, , value]) => total + value, 0)
}

function withEntry(entries: readonly Entry[], next: Entry, { weigh, rate }: Counter): Entry[] {
  const last = entries.at(-1)
  // An entry that counts zero only stores its time, so the next one can replace it.
  if (weigh === quickOnly && last?.[2] === 0) return [...entries.slice(0, -1), next]
  if (weigh !== everyAnswer) return [...entries, next]
  const start = next[0] - (next[0] % Math.max(1, Math.floor(rate.per / GATEWAY_ENTRIES)))
  if (last?.[0] === start) return [...entries.slice(0, -1), [start, '', last[2] + 1]]
  return [...entries, [start, '', 1]]
}
