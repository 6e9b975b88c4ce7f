import type { Readable } from '../../core/viewer.ts'
import { COLUMNS, createTranscriptDatabase, type MessageLog } from './transcript-database.ts'

export type TranscriptIndex = ReturnType<typeof createTranscriptIndex>

/** Skills whose answers quote earlier messages: their questions and answers are excluded from results. */
const ECHOES =
  "('search', 'search-notes', 'digest', 'digest-now', 'recall-notes', 'recall', 'help-words', 'schedule', 'forget-note')"

/** Null parameters match everything. */
const OF_READER = `(:channel IS NULL OR l.channel = :channel)
  AND (:sender IS NULL OR l.conversation IN (SELECT conversation FROM line WHERE channel = :channel AND sender = :sender))`
/** Evaluated once, by an index lookup. */
const NO_ECHO = `(:asking = '' OR l.message <> :asking)
  AND l.message NOT IN (SELECT message FROM line WHERE skill <> '' AND skill IN ${ECHOES} AND message <> '')`

/**
 * `search.db`: a full-text index of the transcript. Built from messages.jsonl and updated on each query, so it can be deleted at any
 * time. Several processes may share it.
 */
export function createTranscriptIndex(sources: { dir: string; logs: MessageLog }) {
  const { ask, ...database } = createTranscriptDatabase(sources)

  return {
    /** Best matches first. Words (without quotes) match by prefix, ignoring case and accents. */
    async find(words: readonly string[], of: Readable, { asking = '', channel = '', limit = 10 }) {
      if (!of || words.length === 0) return []
      return ask(
        `SELECT ${COLUMNS}, snippet(words, 0, '', '', '…', 48) AS text FROM words JOIN line l ON l.id = words.rowid
          WHERE words MATCH :match AND ${OF_READER} AND ${NO_ECHO} AND (:only = '' OR l.channel = :only)
          ORDER BY bm25(words), l.time DESC LIMIT :limit`,
        { ...readerOf(of), match: words.map((word) => `"${word}"*`).join(' '), asking, only: channel, limit },
      )
    },
    /** The newest `limit` lines since a time (ISO 8601), oldest first. */
    async since(time: string, of: Readable, { asking = '', limit = 1000 }) {
      if (!of) return []
      const lines = await ask(
        `SELECT ${COLUMNS}, l.text FROM line l WHERE l.time >= :time AND ${OF_READER} AND ${NO_ECHO}
          ORDER BY l.time DESC LIMIT :limit`,
        { ...readerOf(of), time, asking, limit },
      )
      return lines.reverse()
    },
    /** The id of a person's last message, by their name on a gateway. */
    async lastMessage(channel: string, sender: string): Promise<string | undefined> {
      const [line] = await ask(
        `SELECT ${COLUMNS}, '' AS text FROM line l WHERE channel = :channel AND sender = :sender ORDER BY time DESC LIMIT 1`,
        { channel, sender },
      )
      return line?.message
    },
    ...database,
  }
}

function readerOf({ channel = null, sender = null }: { channel?: string | null; sender?: string | null }) {
  return { channel, sender }
}
