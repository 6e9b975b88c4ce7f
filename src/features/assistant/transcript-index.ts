import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import type { LogEntry } from '../../core/activity.ts'
import { pathGet } from '../../core/json.ts'
import type { Readable } from '../../core/viewer.ts'
import { disk } from '../../lib/disk.ts'
import { createTurns } from '../../lib/turns.ts'

/** A line of the transcript. `text` is its head; a find has the part of it in which the words stand. */
export type Line = Record<
  'time' | 'role' | 'channel' | 'conversation' | 'message' | 'sender' | 'text',
  string
>

/** The log of messages. */
type MessageLog = {
  /** Newest first: all, or what stands behind the place `seen`, which moves to the end. */
  newestMessages(seen: { inode?: number; offset: number }): AsyncIterable<LogEntry>
  /** Whether the file of a place is still among the messages. */
  hasMessages(inode: number): boolean
}

export type TranscriptIndex = ReturnType<typeof createTranscriptIndex>

/** Lines that are searched (the newest), and characters of each. */
const KEPT = 200_000
const LONGEST = 16_000
/** Lines after which others get their turn. */
const BATCH = 500
/** What answers with what was said before: its questions and answers are no find. */
const ECHOES =
  "('search', 'search-notes', 'digest', 'digest-now', 'recall-notes', 'recall', 'help-words', 'schedule', 'forget-note')"

const SCHEMA = `
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS place (inode INTEGER, offset INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS line (id INTEGER PRIMARY KEY, time TEXT, role TEXT, channel TEXT, conversation TEXT, message TEXT,
  sender TEXT, skill TEXT, text TEXT);
CREATE INDEX IF NOT EXISTS line_time ON line (time);
CREATE INDEX IF NOT EXISTS line_sender ON line (channel, sender, conversation);
CREATE INDEX IF NOT EXISTS line_skill ON line (skill, message) WHERE skill <> '';
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
  text, content = 'line', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2');
CREATE TRIGGER IF NOT EXISTS line_added AFTER INSERT ON line BEGIN
  INSERT INTO words (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER IF NOT EXISTS line_removed AFTER DELETE ON line BEGIN
  INSERT INTO words (words, rowid, text) VALUES ('delete', old.id, old.text);
END;
`

const COLUMNS = 'l.time, l.role, l.channel, l.conversation, l.message, l.sender'
/** Parameters are null where that does not matter. */
const OF_READER = `(:channel IS NULL OR l.channel = :channel)
  AND (:sender IS NULL OR l.conversation IN (SELECT conversation FROM line WHERE channel = :channel AND sender = :sender))`
/** Looked up once, in the index, however many lines there are. */
const NO_ECHO = `(:asking = '' OR l.message <> :asking)
  AND l.message NOT IN (SELECT message FROM line WHERE skill <> '' AND skill IN ${ECHOES} AND message <> '')`

/**
 * `search.db`: the transcript, to be searched by words. It is made from messages.jsonl and follows that when it is asked; who removes the
 * log or the file loses nothing but time. Any number of processes may share it.
 */
export function createTranscriptIndex({ dir, logs }: { dir: string; logs: MessageLog }) {
  const path = join(dir, 'search.db')
  const inTurn = createTurns()
  let open: DatabaseSync | undefined

  const database = () => {
    if (open) return open
    // SQLite would go by the umask; it gives the files beside it the same mode.
    disk.close(disk.open(path, 'a'))
    const made = new DatabaseSync(path, { timeout: 10_000 })
    made.exec(SCHEMA)
    open = made
    return made
  }

  /** Takes in what was said since the last time, whole or not at all. */
  const follow = async (db: DatabaseSync) => {
    db.exec('BEGIN IMMEDIATE')
    try {
      const row = db.prepare('SELECT inode, offset FROM place').get()
      const seen = { inode: Number(row?.inode ?? 0), offset: Number(row?.offset ?? 0) }
      // The log was removed: what it held must not be found any more.
      if (row && !logs.hasMessages(seen.inode)) {
        db.exec('DELETE FROM line')
        seen.inode = 0
      }
      const { offset, inode } = seen
      const add = db.prepare(
        'INSERT INTO line (time, role, channel, conversation, message, sender, skill, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      )
      let added = 0
      for await (const line of logs.newestMessages(seen)) {
        if (added++ >= KEPT) break
        if (added % BATCH === 0) await setImmediate()
        add.run(...columnsOf(line))
      }
      if (added > 0)
        db.exec(
          `DELETE FROM line WHERE id IN (SELECT id FROM line ORDER BY time DESC LIMIT -1 OFFSET ${KEPT})`,
        )
      if (seen.offset !== offset || seen.inode !== inode) {
        db.exec('DELETE FROM place')
        db.prepare('INSERT INTO place VALUES (?, ?)').run(seen.inode, seen.offset)
      }
      db.exec('COMMIT')
    } catch (error) {
      db.exec('ROLLBACK')
      throw error
    }
  }

  const close = () => {
    open?.close()
    open = undefined
  }
  /** Asks the index as the transcript is now; one that cannot be read is made anew. */
  const ask = (statement: string, values: Record<string, string | number | null>): Promise<Line[]> =>
    inTurn(async () => {
      const attempt = async () => {
        await follow(database())
        return database().prepare(statement).all(values).map(toLine)
      }
      try {
        return await attempt()
      } catch (error) {
        if (!UNREADABLE.has(Number(pathGet(error, 'errcode')))) throw error
        close()
        for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
        return attempt()
      }
    })

  return {
    /** The best first. Each of the words, which have no quotes, matches by its beginning, without case and accents. */
    async find(words: readonly string[], of: Readable, { asking = '', channel = '', limit = 10 }) {
      if (!of || words.length === 0) return []
      return ask(
        `SELECT ${COLUMNS}, snippet(words, 0, '', '', '…', 48) AS text FROM words JOIN line l ON l.id = words.rowid
          WHERE words MATCH :match AND ${OF_READER} AND ${NO_ECHO} AND (:only = '' OR l.channel = :only)
          ORDER BY bm25(words), l.time DESC LIMIT :limit`,
        { ...readerOf(of), match: words.map((word) => `"${word}"*`).join(' '), asking, only: channel, limit },
      )
    },
    /** What was said since a time (ISO 8601), the newest so many, oldest first. */
    async since(time: string, of: Readable, { asking = '', limit = 1000 }) {
      if (!of) return []
      const lines = await ask(
        `SELECT ${COLUMNS}, l.text FROM line l WHERE l.time >= :time AND ${OF_READER} AND ${NO_ECHO}
          ORDER BY l.time DESC LIMIT :limit`,
        { ...readerOf(of), time, asking, limit },
      )
      return lines.reverse()
    },
    /** The id of the last message of somebody, by their name on a gateway. */
    async lastMessage(channel: string, sender: string): Promise<string | undefined> {
      const [line] = await ask(
        `SELECT ${COLUMNS}, '' AS text FROM line l WHERE channel = :channel AND sender = :sender ORDER BY time DESC LIMIT 1`,
        { channel, sender },
      )
      return line?.message
    },
    close,
  }
}

/** SQLite's codes for a file that is damaged, or none of its own. */
const UNREADABLE = new Set([11, 26])

function readerOf({ channel = null, sender = null }: { channel?: string | null; sender?: string | null }) {
  return { channel, sender }
}

function columnsOf({ time, role, channel, content, meta }: LogEntry): string[] {
  const text = (path: string) => String(pathGet(meta, path) ?? '')
  const message = text('messageId') || text('inReplyTo')
  const head = [time, String(role), String(channel), text('conversation'), message]
  return [...head, role === 'user' ? text('from') : '', text('skill'), String(content).slice(0, LONGEST)]
}

function toLine(row: Record<string, unknown>): Line {
  const text = (name: keyof Line) => String(row[name] ?? '')
  return {
    time: text('time'),
    role: text('role'),
    channel: text('channel'),
    conversation: text('conversation'),
    message: text('message'),
    sender: text('sender'),
    text: text('text'),
  }
}
