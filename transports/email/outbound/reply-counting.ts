import { z } from 'zod'
import type { Rate } from '../../../src/core/units.ts'
import { MIN_ANSWER_MS } from '../reply-target.ts'

/** An automatic reply to be sent. `at`: date of the answered mail (Unix ms). */
export type Answer = {
  key: string
  to: string
  subject: string
  conversation: string
  thread: string
  at: number
  /** Whether the mail answers one of ours so soon that a robot may have written it. */
  quick: boolean
}

/** One or more counted answers. `at`: Unix ms. The `value` depends on the counting. */
export type Entry = { at: number; value: number }

export type Counting = {
  /**
   * Computes the use and the limit of a counter with one more answer, and the value to store for
   * that answer.
   */
  weigh(entries: readonly Entry[], answer: Answer, rate: Rate): { used: number; limit: number; value: number }
  /** The entries with a new one. */
  add(entries: readonly Entry[], next: Entry, rate: Rate): Entry[]
}

/**
 * Reads the stored entries of a counter. Earlier versions stored the key of the answer in the
 * middle.
 */
export const entriesSchema = z
  .array(z.tuple([z.number(), z.string(), z.union([z.number(), z.boolean().transform(Number)])]))
  .transform((stored) => stored.map(([at, _key, value]): Entry => ({ at, value })))
  .catch([])
/** The entries as they are stored. Earlier versions need a text in the middle. */
export const storedForm = (entries: readonly Entry[]) => entries.map(({ at, value }) => [at, '', value])

/** The limit that answers to quick mails leave, because people can be quick too. */
const MIN_LIMIT = 3
/** Tolerance for the dates of mails, which have whole seconds, and for clock differences. */
const CLOCK_TOLERANCE_MS = 2_000
/** Maximum number of entries of a gateway's counter. */
const GATEWAY_ENTRIES = 60
const append = (entries: readonly Entry[], next: Entry): Entry[] => [...entries, next]

/** Each answer to a quick mail halves the limit. */
export const HALVED_BY_QUICK: Counting = {
  weigh(entries, { quick }, { count }) {
    const quickCount = entries.filter(({ value }) => value > 0).length + (quick ? 1 : 0)
    const limit = Math.min(count, Math.max(MIN_LIMIT, Math.floor(count / 2 ** quickCount)))
    return { used: entries.length + 1, limit, value: quick ? 1 : 0 }
  },
  add: append,
}

/** Counts a mail twice if it immediately follows our answer to the same domain, as robots do. */
export const QUICK_TWICE: Counting = {
  weigh(entries, answer, { count }) {
    const value = isQuick(entries, answer) ? 2 : 1
    return { used: sum(entries) + value, limit: count, value }
  },
  add: append,
}

/** Counts only mails that immediately follow our answer to the same domain. */
export const QUICK_ONLY: Counting = {
  weigh(entries, answer, { count }) {
    const value = isQuick(entries, answer) ? 1 : 0
    return { used: sum(entries) + value, limit: count, value }
  },
  add(entries, next) {
    // An entry that counts zero only stores its time, so the next one can replace it.
    return entries.at(-1)?.value === 0 ? [...entries.slice(0, -1), next] : [...entries, next]
  },
}

/** Counts every answer. Keeps one sum for each of `GATEWAY_ENTRIES` parts of the period. */
export const EVERY_ANSWER: Counting = {
  weigh: (entries, _answer, { count }) => ({ used: sum(entries) + 1, limit: count, value: 1 }),
  add(entries, next, { per }) {
    const last = entries.at(-1)
    const span = Math.max(1, Math.floor(per / GATEWAY_ENTRIES))
    const start = next.at - (next.at % span)
    if (last?.at !== start) return [...entries, { at: start, value: 1 }]
    return [...entries.slice(0, -1), { at: start, value: last.value + 1 }]
  },
}

/** Whether the answered mail came sooner after our last answer than a person can write. */
function isQuick(entries: readonly Entry[], { at }: Answer): boolean {
  const last = entries.at(-1)
  return last !== undefined && at > last.at - CLOCK_TOLERANCE_MS && at < last.at + MIN_ANSWER_MS
}

function sum(entries: readonly Entry[]): number {
  return entries.reduce((total, { value }) => total + value, 0)
}
