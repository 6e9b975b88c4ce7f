import { hash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Note, SearchResult } from './assistant-state.ts'
import type { Logs } from './logs.ts'

/** Full text over notes and transcripts. What it holds comes from them, so its file may be deleted at any time. */
export type SearchIndex = {
  /** Takes in what is new, then gives the best matches; words match by their beginning. */
  search(
    query: string,
    notes: readonly Note[],
    options: { channel?: string; limit: number },
  ): Promise<SearchResult[]>
  close(): void
}

const BATCH = 1000
const OVERLAP = 60_000

/** Makes the index over a log, kept in the SQLite file at `path` (`<data dir>/search.db`). */
export function createSearchIndex(options: { path: string; logs: Pick<Logs, 'history'> }): SearchIndex {
  let opened: DatabaseSync | undefined
  const database = () => {
    opened ??= openOrRebuild(options.path)
    return opened
  }

  return {
    async search(query, notes, { channel, limit }) {
      const db = database()
      await takeIn(db, options.logs)
      takeNotes(db, notes)
      const match = matchOf(query)
      if (match === '') return []
      const rows = db
        .prepare(
          `SELECT source, ref, text, channel, -bm25(entry) AS score FROM entry
           WHERE entry MATCH ? AND (? IS NULL OR channel = ?) ORDER BY bm25(entry), rowid DESC LIMIT ?`,
        )
        .all(match, channel ?? null, channel ?? null, limit)
      return rows.map((row) => ({
        source: row.source === 'note' ? 'note' : 'message',
        ref: String(row.ref),
        text: String(row.text),
        channel: String(row.channel),
        score: Number(Number(row.score).toPrecision(6)),
      }))
    },
    close() {
      opened?.close()
      opened = undefined
    },
  }
}

/** Each word quoted, so that nothing a user types is FTS5 syntax. */
function matchOf(query: string): string {
  const words = query.match(/[\p{L}\p{N}_]+/gu) ?? []
  return words.map((word) => `"${word}"*`).join(' ')
}

async function takeIn(db: DatabaseSync, logs: Pick<Logs, 'history'>): Promise<void> {
  const last = db.prepare("SELECT value FROM place WHERE name = 'messages'").get()
  const since = last ? Date.parse(String(last.value)) - OVERLAP : undefined
  let batch: { time: string; channel: string; role: string; content: string }[] = []
  const query = since === undefined ? {} : { since, limit: Number.MAX_SAFE_INTEGER }
  for await (const entry of logs.history(query)) {
    const { time, channel, role, content } = entry
    batch.push({ time, channel: String(channel), role: String(role), content: String(content) })
    if (batch.length >= BATCH) {
      insert(db, batch)
      batch = []
    }
  }
  insert(db, batch)
}

/** The overlap is read again each time; the fingerprint keeps a line from coming in twice. */
function insert(
  db: DatabaseSync,
  batch: { time: string; channel: string; role: string; content: string }[],
): void {
  const last = batch.at(-1)
  if (!last) return
  db.exec('BEGIN IMMEDIATE')
  try {
    const known = db.prepare('INSERT OR IGNORE INTO seen (id) VALUES (?)')
    const add = db.prepare("INSERT INTO entry (source, ref, text, channel) VALUES ('message', ?, ?, ?)")
    for (const { time, channel, role, content } of batch) {
      const id = hash('sha256', JSON.stringify([time, channel, role, content]), 'hex').slice(0, 24)
      if (known.run(id).changes > 0) add.run(`${time} ${role}`, content, channel)
    }
    db.prepare("INSERT OR REPLACE INTO place (name, value) VALUES ('messages', ?)").run(last.time)
    db.exec('COMMIT')
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}

function takeNotes(db: DatabaseSync, notes: readonly Note[]): void {
  const state = hash('sha256', JSON.stringify(notes), 'hex')
  if (db.prepare("SELECT value FROM place WHERE name = 'notes'").get()?.value === state) return
  db.exec('BEGIN IMMEDIATE')
  try {
    db.exec("DELETE FROM entry WHERE source = 'note'")
    const add = db.prepare("INSERT INTO entry (source, ref, text, channel) VALUES ('note', ?, ?, ?)")
    for (const note of notes) add.run(note.id, note.text, note.channel)
    db.prepare("INSERT OR REPLACE INTO place (name, value) VALUES ('notes', ?)").run(state)
    db.exec('COMMIT')
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}

function openOrRebuild(path: string): DatabaseSync {
  try {
    return open(path)
  } catch {
    // Everything in it is also in the logs.
    for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true })
    return open(path)
  }
}

function open(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: 5000 })
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS place (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE VIRTUAL TABLE IF NOT EXISTS entry USING fts5(
      source UNINDEXED, ref UNINDEXED, text, channel UNINDEXED, tokenize = 'unicode61 remove_diacritics 2'
    );`)
  return db
}
