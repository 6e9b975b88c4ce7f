import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import type { LogEntry } from '../../core/activity.ts'
import { pathGet } from '../../core/json.ts'
import { disk } from '../../lib/disk.ts'
import { createTurns } from '../../lib/turns.ts'

/** A transcript line. `text` is its start, or in search results the matching part. */
export type Line = Record<
  'time' | 'role' | 'channel' | 'conversation' | 'message' | 'sender' | 'text',
  string
>

/** The log of messages. */
export type MessageLog = {
  /** All entries, or those after the place `seen`, which moves to the end; newest first. */
  newestMessages(seen: { inode?: number; offset: number }): AsyncIterable<LogEntry>
  /** Whether the file of a place still exists. */
  hasMessages(inode: number): boolean
}

/** Maximum number of searchable lines (the newest), and characters of each. */
const KEPT = 200_000
const LONGEST = 16_000
/** Lines processed before other work gets a turn. */
const BATCH = 500
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

/** The columns of a `Line` but its text; the table `line` is `l`. */
export const COLUMNS = 'l.time, l.role, l.channel, l.conversation, l.message, l.sender'

/** `search.db`, which follows the log of messages: each question sees the newest lines. */
export function createTranscriptDatabase({ dir, logs }: { dir: string; logs: MessageLog }) {
  const path = join(dir, 'search.db')
  const inTurn = createTurns()
  let open: DatabaseSync | undefined

  const database = () => {
    if (open) return open
    // SQLite would apply the umask; its other files get the mode of this one.
    disk.close(disk.open(path, 'a'))
    const made = new DatabaseSync(path, { timeout: 10_000 })
    made.exec(SCHEMA)
    open = made
    return made
  }

  const close = () => {
    open?.close()
    open = undefined
  }
  /** Updates and queries the index; rebuilds it if it is unreadable. */
  const ask = (statement: string, values: Record<string, string | number | null>): Promise<Line[]> =>
    inTurn(async () => {
      const attempt = async () => {
        await follow(database(), logs)
        return database().prepare(statement).all(values).map(toLine)
      }
      try {
        return await attempt()
      } catch (error) {
        if (!UNREADABLE.has(Number(pathGet(error, 'errcode')))) throw error
        removeFiles(path, close)
        return attempt()
      }
    })

  return { ask, close, ...createRemoval({ path, inTurn, database, close }) }
}

/** Adds new lines since the last update, atomically. */
async function follow(db: DatabaseSync, logs: MessageLog): Promise<void> {
  db.exec('BEGIN IMMEDIATE')
  try {
    const row = db.prepare('SELECT inode, offset FROM place').get()
    const seen = { inode: Number(row?.inode ?? 0), offset: Number(row?.offset ?? 0) }
    // The log was removed, so its lines must not be found any more.
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
      db.exec(`DELETE FROM line WHERE id IN (SELECT id FROM line ORDER BY time DESC LIMIT -1 OFFSET ${KEPT})`)
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

function removeFiles(path: string, close: () => void): void {
  close()
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
}

type Who = Pick<Line, 'channel' | 'conversation' | 'message' | 'sender'>

function createRemoval(deps: {
  path: string
  inTurn<T>(work: () => Promise<T>): Promise<T>
  database(): DatabaseSync
  close(): void
}) {
  const { path, inTurn } = deps
  return {
    /** Number of lines of a person. */
    count: (isTheirs: (line: Who) => boolean) =>
      inTurn(async () => {
        if (!existsSync(path)) return 0
        const rows = deps.database().prepare(`SELECT ${COLUMNS} FROM line l`).all()
        return rows.map(toLine).filter(isTheirs).length
      }),
    /** Removes the file; the next query rebuilds it. */
    remove: () => inTurn(async () => removeFiles(path, deps.close)),
  }
}

/** SQLite's codes for a damaged or foreign file. */
const UNREADABLE = new Set([11, 26])

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
