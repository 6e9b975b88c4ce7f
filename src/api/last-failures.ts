import { textAt } from '../core/json.ts'
import type { Outcome } from '../core/message-query.ts'
import type { Store, Waiting } from '../core/store.ts'
import type { LastFailure, StoredReadings } from '../features/troubles/readings.ts'
import { LONG_WAIT } from '../features/troubles/road-troubles.ts'
import { defined } from '../lib/defined.ts'

/** By road: the outcome of messages that are tried again. */
const RETRIED: Readonly<Record<string, Outcome>> = { dispatch: 'retrying', outbox: 'replying' }

/** If messages have been retried for long, adds to their entry why the newest of them failed. */
export function withFailures(
  journal: Pick<Store['journal'], 'search' | 'history'>,
  waiting: readonly Waiting[],
  at: number,
): Promise<StoredReadings['waiting']> {
  return Promise.all(
    waiting.map(async (one) => {
      const outcome = RETRIED[one.road]
      if (one.state !== 'retrying' || !outcome || at - one.oldestAt <= LONG_WAIT) return one
      const gateways = one.gateway === '' ? undefined : [one.gateway]
      const { found } = await journal.search({ gateways, outcomes: [outcome], limit: 1, isPartial: true })
      const failure = found[0] && (await failureOf(journal, found[0].message.id, one.road))
      return { ...one, ...defined({ failure }) }
    }),
  )
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
