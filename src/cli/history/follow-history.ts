import type { createLogs } from '../../features/transcript/logs.ts'
import { pause } from '../../lib/pause.ts'
import type { Connection } from '../connection.ts'
import { type Entry, entryOfLine, isAnswer } from './entry.ts'
import { createFilter, type HistoryFilter } from './filter.ts'
import { decisionsSince, entriesSince } from './read-history.ts'

/** Interval (ms) between looks at the store. */
const INTERVAL = 1_000
/** The same for decisions: for each call, the daemon reads all requests that it keeps. */
const DECISIONS_INTERVAL = 5_000
/** Maximum number of entries that are remembered, so that none is shown twice. */
const MAX_SEEN = 10_000

type Following = {
  logs: Pick<ReturnType<typeof createLogs>, 'history'>
  /** The running daemon; undefined without one. */
  store: Pick<Connection, 'invoke'> | undefined
  filter: HistoryFilter
  /** Entries from this time on (Unix ms) are new. */
  from: number
  signal: AbortSignal
  show(entry: Entry): void
}

/**
 * Passes new entries to `show`, each once: those of messages.jsonl, and of a running daemon also
 * messages that wait and answers that were not sent.
 */
export async function followHistory(shown: readonly Entry[], following: Following): Promise<void> {
  const { logs, store, filter, from, signal } = following
  const seen = new Set(shown.map(keyOf))
  const ids = new Set<unknown>()
  const senders = new Set<unknown>()
  const accepts = createFilter(filter, { ids, senders })
  /** Remembers a message of the conversation: answers to it may be in another one. */
  const remember = (entry: Entry) => {
    const { conversation, messageId, from } = entry.meta
    if (filter.conversation === undefined || conversation !== filter.conversation || isAnswer(entry)) return
    ids.add(messageId)
    senders.add(from)
  }
  for (const entry of shown) remember(entry)
  const take = (entry: Entry) => {
    const key = keyOf(entry)
    if (seen.has(key)) return
    seen.add(key)
    if (seen.size > MAX_SEEN) seen.delete(seen.values().next().value ?? '')
    remember(entry)
    if (accepts(entry)) following.show(entry)
  }
  const followLines = async () => {
    const since = new Date(from).toISOString()
    const query = { follow: true, signal, since }
    for await (const line of logs.history(query)) take(entryOfLine(line))
  }
  const follow = async (read: (since: number) => Promise<Entry[]>, interval: number) => {
    for (let since = from; !signal.aborted; await pause(interval, signal)) {
      const now = Date.now()
      // The daemon may restart. Its entries are found later.
      const found = await read(since).catch(() => undefined)
      for (const entry of found ?? []) take(entry)
      if (found) since = Math.max(from, now - interval)
    }
  }
  const followStore = (daemon: Pick<Connection, 'invoke'>) => [
    follow((since) => entriesSince(daemon, filter, since), INTERVAL),
    follow((since) => decisionsSince(daemon, since), DECISIONS_INTERVAL),
  ]
  await Promise.all([followLines(), ...(store ? followStore(store) : [])])
}

/** The same for an entry of messages.jsonl and of the store. */
function keyOf(entry: Entry): string {
  const { messageId, inReplyTo, conversation } = entry.meta
  if (!isAnswer(entry)) return `message ${messageId ?? `${entry.time} ${entry.content}`}`
  return ['answer', entry.time, inReplyTo ?? conversation, entry.content].join(' ')
}
