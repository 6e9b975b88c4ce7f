import { textAt } from '../core/json.ts'
import { isTest } from '../core/message.ts'
import type { Note, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { patternOf } from '../lib/error-pattern.ts'
import { createSenders, type WaitingPeople, waitingPeople } from './letter-people.ts'

/** Maximum number of messages whose last failures are read. */
const MOST_READ = 50

/**
 * Messages that are tried again. `more`: there may be others. `routes`: those of the messages. `nextAt`:
 * when the next attempt on one of them begins (Unix ms), if known.
 */
export type RetryingMessages = {
  count: number
  more?: true
  routes: string[]
  nextAt?: number
  waits?: WaitingPeople
}

/**
 * Makes a function that reads the newest messages that are tried again. Its result finds those whose
 * last attempt failed with a code and pattern.
 */
export function createRetryingReader(journal: Pick<Store['journal'], 'search' | 'history'>) {
  return async () => {
    const { found, next } = await journal.search({
      outcomes: ['retrying'],
      limit: MOST_READ,
      isPartial: true,
    })
    const messages = found.map(({ message }) => message).filter((message) => !isTest(message))
    const failures = await Promise.all(
      messages.map(async (message) => ({ message, ...lastFailureIn(await journal.history(message.id)) })),
    )
    return ({ code, pattern }: { code: string; pattern: string }): RetryingMessages | undefined => {
      const same = failures.filter((one) => one.code === code && one.pattern === pattern)
      if (same.length === 0) return undefined
      const senders = createSenders()
      for (const { message } of same) senders.add(message)
      const times = same.flatMap(({ nextAt }) => nextAt ?? [])
      return {
        count: same.length,
        ...(next !== undefined && { more: true as const }),
        routes: [...new Set(same.flatMap(({ route }) => route ?? []))],
        ...(times.length > 0 && { nextAt: Math.min(...times) }),
        ...defined({ waits: waitingPeople([senders.people()]) }),
      }
    }
  }
}

function lastFailureIn(history: readonly Note[]) {
  const failed = history.findLast(({ road, what }) => road === 'dispatch' && what === 'failed')
  const [code, error, route] = ['code', 'error', 'route'].map((key) => textAt(failed?.detail, key))
  const delay = Number(Object(failed?.detail).delay)
  const nextAt = failed && Number.isFinite(delay) ? failed.at + delay : undefined
  return { code, pattern: error === undefined ? undefined : patternOf(error), route, nextAt }
}
