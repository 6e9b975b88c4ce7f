import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import type { LogEntry } from '../../core/activity.ts'
import { pathGet } from '../../core/json.ts'
import { disk } from '../../lib/disk.ts'
import { rollBack } from '../../lib/roll-back.ts'
import { createTurns } from '../../lib/turns.ts'

/** A transcript line. `text` is its start, or in search results the matching part. */
export type Line = Record<
  'time' | 'role' | 'channel' | 'conversation' | 'message' | 'sender' | 'text',
  string
>

/** The log of messages: messages.jsonl. */
export type MessageLog = {
  /** All entries, or those after the position `seen`, which moves to the end; newest first. */
  newestMessages(seen: { inode?: number; offset: number }): AsyncIterable<LogEntry>
  /** Whether the file of a position still exists. */
  hasMessages(inode: number): boolean
}

/** Maximum number of indexed lines: the newest. */
const MAX_LINES = 200_000
/** Maximum characters of an indexed line. */
const MAX_LENGTH = 16_000
/** Maximum wait (ms) for the lock of another process. */
const LOCK_TIMEOUT = 10_000
/** Lines added before other work gets a turn. */
const BATCH = 500
/** `place` has one row: the position in the log up to which lines are indexed. */
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

const INSERT_LINE =
  'INSERT INTO line (time, role, channel, conversation, message, sender, skill, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?)'

/** The columns of a `Line` but its text; the table `line` is `l`. */
export const COLUMNS = 'l.time, l.role, l.channel, l.conversation, l.message, l.sender'

/** `search.db`, which follows the log of messages: each query sees the newest lines. */
export function createTranscriptDatabase({ dir, logs }: { dir: string; logs: MessageLog }) {
  const path = join(dir, 'search.db')
  const inTurn = createTurns()
  let opened: DatabaseSync | undefined

  const database = () => {
    if (opened) return opened
    // Created here, because SQLite would apply the umask. Its other files get the mode of this one.
    disk.close(disk.open(path, 'a'))
    const db = new DatabaseSync(path, { timeout: LOCK_TIMEOUT })
    db.exec(SCHEMA)
    opened = db
    return db
  }

  const close = () => {
    opened?.close()
    opened = undefined
  }
  /** Updates and queries the index. Rebuilds it if it is damaged. */
  const query = (statement: string, values: Record<string, string | number | null>): Promise<Line[]> =>
    inTurn(async () => {
      const attempt = async () => {
        await update(database(), logs)
        return database().prepare(statement).all(values).map(toLine)
      }
      try {
        return await attempt()
      } catch (error) {
        if (!DAMAGED.has(Number(pathGet(error, 'errcode')))) throw error
        removeFiles(path, close)
        return attempt()
      }
    })

  return { query, close, ...createRemoval({ path, inTurn, database, close }) }
}

/** Adds the lines since the last update, atomically. */
async function update(db: DatabaseSync, logs: MessageLog): Promise<void> {
  db.exec('BEGIN IMMEDIATE')
  try {
    const row = db.prepare('SELECT inode, offset FROM place').get()
    const seen = { inode: Number(row?.inode ?? 0), offset: Number(row?.offset ?? 0) }
    // The log was removed, so its lines must not be found any more; a new log is read from its start.
    if (row && !logs.hasMessages(seen.inode)) {
      db.exec('DELETE FROM line')
      seen.inode = 0
    }
    const before = { ...seen }
    const insert = db.prepare(INSERT_LINE)
    let added = 0
    for await (const line of logs.newestMessages(seen)) {
      if (added++ >= MAX_LINES) break
      if (added % BATCH === 0) await setImmediate()
      insert.run(...columnsOf(line))
    }
    if (added > 0)
      db.exec(
        `DELETE FROM line WHERE id IN (SELECT id FROM line ORDER BY time DESC LIMIT -1 OFFSET ${MAX_LINES})`,
      )
    if (seen.offset !== before.offset || seen.inode !== before.inode) {
      db.exec('DELETE FROM place')
      db.prepare('INSERT INTO place VALUES (?, ?)').run(seen.inode, seen.offset)
    }
    db.exec('COMMIT')
  } catch (error) {
    rollBack(db)
    throw error
  }
}

function removeFiles(path: string, close: () => void): void {
  close()
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
}

/** The fields of a line by which a person's lines are found. */
type LineSource = Pick<Line, 'channel' | 'conversation' | 'message' | 'sender'>

function createRemoval(deps: {
  path: string
  inTurn<T>(work: () => Promise<T>): Promise<T>
  database(): DatabaseSync
  close(): void
}) {
  const { path, inTurn } = deps
  return {
    /** The number of indexed lines of a person. */
    count: (isTheirs: (line: LineSource) => boolean) =>
      inTurn(async () => {
        if (!existsSync(path)) return 0
        const rows = deps.database().prepare(`SELECT ${COLUMNS} FROM line l`).all()
        return rows.map(toLine).filter(isTheirs).length
      }),
    /** Removes the file; the next query rebuilds it. */
    remove: () => inTurn(async () => removeFiles(path, deps.close)),
  }
}

/** Result codes of SQLite: SQLITE_CORRUPT, and SQLITE_NOTADB for a foreign file. */
const DAMAGED = new Set([11, 26])

/** The values of a row of `line`, in the order of `INSERT_LINE`. */
function columnsOf({ time, role, channel, content, meta }: LogEntry): string[] {
  const text = (path: string) => String(pathGet(meta, path) ?? '')
  // An answer has the id of the message that it answers.
  const message = text('messageId') || text('inReplyTo')
  const sender = role === 'user' ? text('from') : ''
  const indexed = String(content).slice(0, MAX_LENGTH)
  return [time, String(role), String(channel), text('conversation'), message, sender, text('skill'), indexed]
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
