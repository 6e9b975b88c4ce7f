import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import type { LogEntry, LogReading } from '../../core/activity.ts'
import { pathGet } from '../../core/json.ts'
import type { LogPosition } from '../../lib/log-position.ts'
import { openPrivateDatabase } from '../../lib/private-database.ts'
import { rollBack } from '../../lib/roll-back.ts'
import { createTurns } from '../../lib/turns.ts'

/** A transcript line. `text` is its start, or in search results the matching part. */
export type Line = Record<
  'time' | 'role' | 'channel' | 'conversation' | 'message' | 'sender' | 'text',
  string
>

/** The log of messages: messages.jsonl. */
export type MessageLog = {
  /** The entries after a position, or all of them, newest first. */
  newestMessages(after?: LogPosition): LogReading
  /** Whether the log still has the lines before a position. */
  hasMessages(position: LogPosition): Promise<boolean>
}

/** Maximum number of indexed lines: the newest. */
const MAX_LINES = 200_000
/** Maximum characters of an indexed line. */
const MAX_LENGTH = 16_000
/** Maximum wait (ms) for the lock of another process. */
const LOCK_TIMEOUT = 10_000
/** Number of lines that are added before other work gets a turn. */
const BATCH = 500
/**
 * `place` and `log_start` have one row: the position in the log up to which lines are indexed. They
 * are two tables, since earlier versions of Trivium insert two values into `place`.
 */
const SCHEMA = `
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS place (inode INTEGER, offset INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS log_start (start TEXT NOT NULL);
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

/** The columns of a `Line` except its text. `l` is the table `line`. */
export const COLUMNS = 'l.time, l.role, l.channel, l.conversation, l.message, l.sender'

/** The fields of a line by which a person's lines are found. */
type LineSource = Pick<Line, 'channel' | 'conversation' | 'message' | 'sender'>

/** `search.db`, which follows the log of messages: each query sees the newest lines. */
export function createTranscriptDatabase({ dir, logs }: { dir: string; logs: MessageLog }) {
  const file = createDatabaseFile(join(dir, 'search.db'))
  const inTurn = createTurns()

  /** If the file is damaged, removes it and repeats the work. */
  const repairing = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      if (!DAMAGED.has(Number(pathGet(error, 'errcode')))) throw error
      file.remove()
      return work()
    }
  }

  return {
    /** Updates and queries the index. */
    query: (statement: string, values: Record<string, string | number | null>): Promise<Line[]> =>
      inTurn(() =>
        repairing(async () => {
          const db = file.open()
          await update(db, logs)
          return db.prepare(statement).all(values).map(toLine)
        }),
      ),
    /** The number of indexed lines of a person. */
    count: (isTheirs: (line: LineSource) => boolean): Promise<number> =>
      inTurn(() =>
        repairing(async () => {
          if (!file.exists()) return 0
          const rows = file.open().prepare(`SELECT ${COLUMNS} FROM line l`).all()
          return rows.map(toLine).filter(isTheirs).length
        }),
      ),
    /** Removes the file; the next query rebuilds it. */
    remove: () => inTurn(async () => file.remove()),
    close: file.close,
  }
}

/** A database file, opened and created when it is first used. */
function createDatabaseFile(path: string) {
  let opened: DatabaseSync | undefined
  const close = () => {
    opened?.close()
    opened = undefined
  }
  return {
    exists: () => existsSync(path),
    open(): DatabaseSync {
      opened ??= openPrivateDatabase(path, LOCK_TIMEOUT, SCHEMA)
      return opened
    },
    close,
    remove(): void {
      close()
      for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
    },
  }
}

/** Adds the lines since the last update, atomically. */
async function update(db: DatabaseSync, logs: MessageLog): Promise<void> {
  db.exec('BEGIN IMMEDIATE')
  try {
    const position = positionOf(db)
    const isContinued = position !== undefined && (await logs.hasMessages(position))
    // The indexed lines are of a log that was removed: nobody may find them any more.
    if (!isContinued) db.exec('DELETE FROM line')
    const reading = logs.newestMessages(isContinued ? position : undefined)
    const insert = db.prepare(INSERT_LINE)
    let added = 0
    for await (const line of reading.entries) {
      if (added++ >= MAX_LINES) break
      if (added % BATCH === 0) await setImmediate()
      insert.run(...columnsOf(line))
    }
    if (added > 0)
      db.exec(
        `DELETE FROM line WHERE id IN (SELECT id FROM line ORDER BY time DESC LIMIT -1 OFFSET ${MAX_LINES})`,
      )
    if (added > 0 || !isContinued) savePosition(db, reading.end())
    db.exec('COMMIT')
  } catch (error) {
    rollBack(db)
    throw error
  }
}

/** The position in the log up to which lines are indexed. */
function positionOf(db: DatabaseSync): LogPosition | undefined {
  const row = db.prepare('SELECT inode, offset, start FROM place, log_start').get()
  return row && { inode: Number(row.inode), offset: Number(row.offset), start: String(row.start) }
}

function savePosition(db: DatabaseSync, position: LogPosition | undefined): void {
  db.exec('DELETE FROM place; DELETE FROM log_start')
  if (!position) return
  db.prepare('INSERT INTO place VALUES (?, ?)').run(position.inode, position.offset)
  db.prepare('INSERT INTO log_start VALUES (?)').run(position.start)
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
