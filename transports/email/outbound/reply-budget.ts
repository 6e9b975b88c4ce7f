import { hash } from 'node:crypto'
import { getDomain } from 'tldts'
import { z } from 'zod'
import { withoutTag } from '../../../src/core/identity.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { formatDuration, type Rate } from '../../../src/core/units.ts'
import { updateKv } from '../../../src/core/update-kv.ts'
import { bareSubject } from '../inbound/subject.ts'
import type { EmailOptions } from '../options.ts'
import { isPublicDomain } from './public-domains.ts'

/** An automatic reply to be sent. `at`: date of the answered mail (Unix ms). */
type Answer = {
  key: string
  to: string
  subject: string
  conversation: string
  thread: string
  at: number
  /** The mail refers to one of our mails and arrived so soon after it that a robot may have written it. */
  quick: boolean
}

/** A counter of answers. */
type Count = {
  name: string
  rate: Rate
  /** Description of the counted correspondent. */
  what: string
  option: keyof EmailOptions['reply-budget']
  weigh: Weigh
}

/** A counted answer: time (Unix ms), key, and a value specific to the counter. */
type Taken = [at: number, key: string, value: number]
/** Computes usage and limit with one more answer, and the value to store. */
type Weigh = (
  taken: readonly Taken[],
  answer: Answer,
  rate: Rate,
) => { used: number; of: number; value: number }

const takenSchema = z
  .array(z.tuple([z.number(), z.string(), z.union([z.number(), z.boolean().transform(Number)])]))
  .catch([])

/** About how long a dead letter is worth retrying. */
const DEAD_LETTERS = 30 * 86_400_000
/** Minimum remaining budget after quick replies, as people can be quick too. */
const FEW = 3
/** Ms within which a person cannot read and answer a mail. */
const QUICK = 30_000
/** Tolerance (ms) for mail dates without ms and for clock differences. */
const SLACK = 2_000
/** Number of buckets of a gateway's counter, which bounds its size. */
const PIECES = 60

/** An exhausted budget: remaining wait (ms) and description. */
export type Stop = { wait: number; what: string; option: string }

/**
 * Limits automatic replies within a sliding window, over all daemons: per address, conversation, thread, domain and gateway. Counts are
 * in the store, so they survive restarts.
 */
export function createReplyBudget(
  options: Pick<EmailOptions, 'reply-budget' | 'address' | 'aliases'>,
  { kv, gateway, now, log }: Pick<TransportDeps, 'kv' | 'gateway' | 'now' | 'log'>,
) {
  const digest = (text: string) => hash('sha256', text, 'base64url').slice(0, 16)
  const ownDomains = new Set([options.address, ...options.aliases].map(domainOf))
  const stops = new Map<string, { until: number; text: string }>()

  const tell = ({ what, option, rate }: Count, wait: number) => {
    const until = now() + wait
    const isNew = (stops.get(what)?.until ?? 0) <= now()
    stops.set(what, {
      until,
      text: `no automatic replies ${what} for ${minutes(wait)} (reply-budget.${option})`,
    })
    const limit = `${rate.count}/${formatDuration(rate.per)}`
    if (isNew)
      log.warn({ option: `reply-budget.${option}`, limit, wait }, `automatic replies ${what} are stopped`)
  }

  /** Counts an answer against a budget. `isKnown`: already counted. */
  const takeFrom = async (count: Count, answer: Answer): Promise<{ wait: number; isKnown: boolean }> => {
    const { name, rate, weigh } = count
    const mark = digest(answer.key)
    let wait = 0
    let isKnown = false
    await updateKv(kv, `email/${gateway}/budget/${digest(name)}`, (value) => {
      const taken = takenSchema.parse(value).filter(([at]) => at > now() - rate.per)
      isKnown = taken.some(([, each]) => each === mark)
      wait = 0
      if (isKnown) return undefined
      const { used, of, value: noted } = weigh(taken, answer, rate)
      const [oldest] = taken
      if (used > of && oldest) wait = Math.max(1, oldest[0] + rate.per - now())
      return wait > 0 ? undefined : { value: noteIn(taken, [now(), mark, noted], count), ttl: rate.per }
    })
    return { wait, isKnown }
  }

  return {
    /**
     * Counts an answer against all its budgets. Returns undefined, or the exhausted budget. The
     * same key counts once. An answer that was refused before passes: it is a dead letter that a
     * person has retried.
     */
    async take(answer: Answer): Promise<Stop | undefined> {
      const refused = `email/${gateway}/over-budget/${digest(answer.key)}`
      const counts = countsFor(answer, options['reply-budget'], ownDomains)
      if (counts.length === 0 || (await kv.get(refused))) return undefined
      // Narrowest first, so that one robot does not use up shared budgets.
      for (const count of counts) {
        const { wait, isKnown } = await takeFrom(count, answer)
        if (isKnown) return undefined
        if (wait === 0) continue
        await kv.set(refused, true, { ttl: DEAD_LETTERS })
        tell(count, wait)
        return { wait, what: count.what, option: `reply-budget.${count.option}` }
      }
      return undefined
    },
    /** Descriptions of exhausted budgets known to this daemon. */
    stopped(): string[] {
      for (const [what, { until }] of stops) if (until <= now()) stops.delete(what)
      return [...stops.values()].map(({ text }) => text)
    },
  }
}

export function minutes(ms: number): string {
  return `${Math.ceil(ms / 60_000)} min`
}

function countsFor(
  answer: Answer,
  rates: EmailOptions['reply-budget'],
  ownDomains: ReadonlySet<string>,
): Count[] {
  const { to, conversation, thread } = answer
  const domain = domainOf(to)
  const isShared = isPublicDomain(domain) || ownDomains.has(domain)
  const subject = bareSubject(answer.subject)
    .toLowerCase()
    .replaceAll(/[\d#\s]+/g, ' ')
    .trim()
  const all: (Omit<Count, 'rate'> & { rate: Rate | 'off' })[] = [
    {
      option: 'address',
      rate: rates.address,
      name: withoutTag(to.toLowerCase()),
      what: `to ${to}`,
      weigh: halved,
    },
    {
      option: 'conversation',
      rate: rates.conversation,
      name: conversation,
      what: `in ${conversation}`,
      weigh: halved,
    },
    { option: 'thread', rate: rates.thread, name: thread, what: `in the thread of ${thread}`, weigh: halved },
    isShared
      ? // Public domains have thousands of users, so only robot-like answers count.
        {
          option: 'domain',
          rate: rates.domain,
          name: `domain ${domain} ${subject}`,
          what: `to ${domain} about “${subject.slice(0, 60)}”`,
          weigh: quickOnly,
        }
      : {
          option: 'domain',
          rate: rates.domain,
          name: `domain ${domain}`,
          what: `to ${domain}`,
          weigh: doubled,
        },
    { option: 'gateway', rate: rates.gateway, name: 'gateway', what: 'of this gateway', weigh: plain },
  ]
  const names = new Set<string>()
  return all.flatMap(({ rate, ...count }) => {
    if (rate === 'off' || names.has(count.name)) return []
    names.add(count.name)
    return [{ ...count, rate }]
  })
}

/** The registrable domain: `a.b.example.co.uk` becomes `example.co.uk`. */
function domainOf(address: string): string {
  const host = address.slice(address.lastIndexOf('@') + 1).toLowerCase()
  return getDomain(host) ?? host
}

/** Each quick answer halves the budget. */
const halved: Weigh = (taken, { quick }, { count }) => {
  const quicks = taken.filter(([, , isQuick]) => isQuick > 0).length + (quick ? 1 : 0)
  const of = Math.min(count, Math.max(FEW, Math.floor(count / 2 ** quicks)))
  return { used: taken.length + 1, of, value: quick ? 1 : 0 }
}

/** Counts a mail twice if it immediately follows our answer to the same domain, as robots do. */
const doubled: Weigh = (taken, answer, { count }) => {
  const value = isQuick(taken, answer) ? 2 : 1
  return { used: sum(taken) + value, of: count, value }
}

const quickOnly: Weigh = (taken, answer, { count }) => {
  const value = isQuick(taken, answer) ? 1 : 0
  return { used: sum(taken) + value, of: count, value }
}

const plain: Weigh = (taken, _answer, { count }) => ({ used: sum(taken) + 1, of: count, value: 1 })

function isQuick(taken: readonly Taken[], { at }: Answer): boolean {
  const last = taken.at(-1)?.[0]
  return last !== undefined && at > last - SLACK && at < last + QUICK
}

function sum(taken: readonly Taken[]): number {
  return taken.reduce((total, [, , value]) => total + value, 0)
}

function noteIn(taken: readonly Taken[], next: Taken, { weigh, rate }: Count): Taken[] {
  const last = taken.at(-1)
  // An entry that counts zero only stores its time.
  if (weigh === quickOnly && last?.[2] === 0) return [...taken.slice(0, -1), next]
  if (weigh !== plain) return [...taken, next]
  const start = next[0] - (next[0] % Math.max(1, Math.floor(rate.per / PIECES)))
  if (last?.[0] === start) return [...taken.slice(0, -1), [start, '', last[2] + 1]]
  return [...taken, [start, '', 1]]
}
