import type { ReadableLines } from '../../core/viewer.ts'
import { COLUMNS, createTranscriptDatabase, type MessageLog } from './transcript-database.ts'

export type TranscriptIndex = ReturnType<typeof createTranscriptIndex>

/**
 * Skills whose answers quote other messages. Their questions and answers are excluded from results.
 */
const QUOTING_SKILLS =
  "('search', 'search-notes', 'digest', 'digest-now', 'recall-notes', 'recall', 'help-words', 'schedule', 'forget-note')"

/**
 * Lines that the reader may see, see `ReadableLines`. A parameter that is null matches everything.
 */
const IS_READABLE = `(:channel IS NULL OR l.channel = :channel)
  AND (:sender IS NULL OR l.conversation IN (SELECT conversation FROM line WHERE channel = :channel AND sender = :sender))`
/** Leaves out the question itself, and quotes. SQLite evaluates the SELECT once, by an index. */
const IS_OWN_TEXT = `(:asking = '' OR l.message <> :asking)
  AND l.message NOT IN (SELECT message FROM line WHERE skill <> '' AND skill IN ${QUOTING_SKILLS} AND message <> '')`

/**
 * `search.db`: a full-text index of the transcript. It is built from messages.jsonl and updated at
 * each query, so it can be deleted at any time. Several processes may share it.
 */
export function createTranscriptIndex(sources: { dir: string; logs: MessageLog }) {
  const { query, ...database } = createTranscriptDatabase(sources)

  return {
    /**
     * The lines that contain all words, best matches first. Words must not contain quotes; they
     * match by prefix, ignoring case and accents. `asking`: the id of the message that searches.
     */
    async find(words: readonly string[], reads: ReadableLines, { asking = '', channel = '', limit = 10 }) {
      if (!reads || words.length === 0) return []
      return query(
        `SELECT ${COLUMNS}, snippet(words, 0, '', '', '…', 48) AS text FROM words JOIN line l ON l.id = words.rowid
          WHERE words MATCH :match AND ${IS_READABLE} AND ${IS_OWN_TEXT} AND (:only = '' OR l.channel = :only)
          ORDER BY bm25(words), l.time DESC LIMIT :limit`,
        {
          ...readableParameters(reads),
          match: words.map((word) => `"${word}"*`).join(' '),
          asking,
          only: channel,
          limit,
        },
      )
    },
    /** The newest `limit` lines since a time (ISO 8601), oldest first. */
    async since(time: string, reads: ReadableLines, { asking = '', limit = 1000 }) {
      if (!reads) return []
      const lines = await query(
        `SELECT ${COLUMNS}, l.text FROM line l WHERE l.time >= :time AND ${IS_READABLE} AND ${IS_OWN_TEXT}
          ORDER BY l.time DESC LIMIT :limit`,
        { ...readableParameters(reads), time, asking, limit },
      )
      return lines.reverse()
    },
    /** The id of a person's last message, by their name on a gateway. */
    async lastMessage(channel: string, sender: string): Promise<string | undefined> {
      const [line] = await query(
        `SELECT ${COLUMNS}, '' AS text FROM line l WHERE channel = :channel AND sender = :sender ORDER BY time DESC LIMIT 1`,
        { channel, sender },
      )
      return line?.message
    },
    ...database,
  }
}

/** The parameters of `IS_READABLE`. */
function readableParameters({
  gateway = null,
  sender = null,
}: {
  gateway?: string | null
  sender?: string | null
}) {
  return { channel: gateway, sender }
}
