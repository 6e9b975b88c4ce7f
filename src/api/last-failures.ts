import { textAt } from '../core/json.ts'
import { isTest, type Message } from '../core/message.ts'
import type { Outcome } from '../core/message-query.ts'
import type { Store, Waiting } from '../core/store.ts'
import type { LastFailure, StoredReadings } from '../features/troubles/readings.ts'
import { LONG_WAIT } from '../features/troubles/road-troubles.ts'
import { defined } from '../lib/defined.ts'

/** By road: the outcome of messages that are tried again. */
const RETRIED: Readonly<Record<string, Outcome>> = { dispatch: 'retrying', outbox: 'replying' }

/** Tests are found among this many of the newest messages that are tried again. */
const MAX_SEARCHED = 50

/**
 * If messages have been retried for long, adds to their entry why the newest of them failed. Tests
 * do not count: an entry that has only tests is left out.
 */
export async function withFailures(
  journal: Pick<Store['journal'], 'search' | 'history'>,
  waiting: readonly Waiting[],
  at: number,
): Promise<StoredReadings['waiting']> {
  const entries = await Promise.all(
    waiting.map((one) => (at - one.oldestAt > LONG_WAIT ? withFailure(journal, one) : one)),
  )
  return entries.filter((one) => one !== undefined)
}

async function withFailure(
  journal: Pick<Store['journal'], 'search' | 'history'>,
  one: Waiting,
): Promise<StoredReadings['waiting'][number] | undefined> {
  const outcome = RETRIED[one.road]
  if (one.state !== 'retrying' || !outcome) return one
  const gateways = one.gateway === '' ? undefined : [one.gateway]
  const { found } = await journal.search({
    gateways,
    outcomes: [outcome],
    limit: MAX_SEARCHED,
    isPartial: true,
  })
  const messages = found.map(({ message }) => message)
  const others = messages.filter((message) => !isTest(message))
  const tests = messages.length - others.length
  if (tests > 0 && others.length === 0 && tests >= one.count) return undefined
  const [newest] = others
  const failure = newest && (await failureOf(journal, newest.id, one.road))
  return { ...one, ...(tests > 0 && withoutTests(one, tests, others)), ...defined({ failure }) }
}

/** The count and the start without the tests. `others`: the newest messages that are no tests. */
function withoutTests({ count, oldestAt }: Waiting & { count: number }, tests: number, others: Message[]) {
  const isComplete = others.length + tests < MAX_SEARCHED && others.length > 0
  const since = Math.min(...others.map(({ receivedAt }) => receivedAt))
  return {
    count: Math.max(others.length, count - tests),
    // A retried dead letter waits since its retry, which is later than its message.
    oldestAt: isComplete ? Math.max(oldestAt, since) : oldestAt,
  }
}

async function failureOf(
  journal: Pick<Store['journal'], 'history'>,
  messageId: string,
  road: string,
): Promise<LastFailure | undefined> {
  const notes = (await journal.history(messageId)).filter((note) => note.road === road)
  for (const { detail } of notes.toReversed()) {
    const error = textAt(detail, 'error') ?? textAt(detail, 'reason')
    if (error !== undefined) return { messageId, error, ...defined({ route: textAt(detail, 'route') }) }
  }
  return undefined
}
