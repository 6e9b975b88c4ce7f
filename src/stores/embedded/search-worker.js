import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

/**
 * Looks through the journal beside the event loop; search.ts has the types. It gives what may match, newest first. Plain JavaScript, as
 * checkpoint-worker.js is.
 */
const db = new DatabaseSync(String(workerData), { readOnly: true, timeout: 5_000 })
db.exec(readFileSync(new URL('./views.sql', import.meta.url), 'utf8'))

/** Positions that one step looks at: each is a read transaction, and a long one would keep the write-ahead log from starting over. */
const STEP = 2_000
/** Ms for one question, and characters of one answer. */
const LONGEST = 200
const LARGEST = 4_000_000

const oldest = db.prepare('SELECT seq, id FROM journal WHERE seq >= ? ORDER BY seq LIMIT 1')
const newest = db.prepare('SELECT seq FROM journal ORDER BY seq DESC LIMIT 1')
const statements = new Map()
const prepare = (text) => {
  const known = statements.get(text) ?? db.prepare(text)
  statements.set(text, known)
  return known
}

parentPort?.on('message', (asked) => {
  try {
    parentPort?.postMessage(search(asked))
  } catch (thrown) {
    // An error that is sent keeps no code of its own.
    const { message, errcode } = Object(thrown)
    parentPort?.postMessage({ error: { message, errcode }, rows: [] })
  }
})

function search({ likes, gateways, conversation, outcomes, since, until, end, limit }) {
  const deadline = Date.now() + LONGEST
  const conditions = ['j.seq >= ? AND j.seq < ?', 'j.id >= ?', 'j.id < ?']
  const values = [since, until]
  const add = (condition, ...bound) => {
    conditions.push(condition)
    values.push(...bound)
  }
  if (gateways) add(`j.gateway IN (${gateways.map(() => '?').join()})`, ...gateways)
  if (conversation) add('(j.conversation = ? OR j.seq = ?)', conversation.name, conversation.own)
  for (const like of likes) add('j.payload LIKE ?', like)
  if (outcomes) add(`s.outcome IN (${outcomes.map(() => '?').join()})`, ...outcomes)
  const select = prepare(`SELECT j.seq, j.id, g.name AS gateway, j.received_at, j.payload, s.outcome
    FROM journal j CROSS JOIN gateway g ON g.id = j.gateway CROSS JOIN standing s ON s.seq = j.seq
    WHERE ${conditions.join(' AND ')} ORDER BY j.seq DESC LIMIT ?`)

  const rows = []
  let size = 0
  const first = oldest.get(0)
  let to = Math.min(end, (newest.get()?.seq ?? 0) + 1)
  while (first && to > first.seq) {
    const from = Math.max(first.seq, to - STEP)
    for (const row of select.iterate(from, to, ...values, limit - rows.length)) {
      rows.push(row)
      size += row.payload.length
      if (rows.length >= limit || size > LARGEST) return { rows, next: row.id }
    }
    const reached = oldest.get(from)
    // Ids sort by time.
    if (from === first.seq || !reached || reached.id < since) break
    if (Date.now() > deadline) return { rows, next: reached.id }
    to = from
  }
  return { rows }
}
