import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

/**
 * A thread that searches the journal; search.ts has the types. It returns a superset of the
 * matches, newest first. In requests, `since` and `until` are ids, `end` is a position, and `width`
 * is the ms of a span. Plain JavaScript, like checkpoint-worker.js.
 */
const db = new DatabaseSync(String(workerData), { readOnly: true, timeout: 5_000 })
db.exec(readFileSync(new URL('./views.sql', import.meta.url), 'utf8'))

/**
 * Positions per step. Each step is a read transaction, and a long one would keep the write-ahead
 * log from restarting.
 */
const STEP = 2_000
/** After this time (ms), a search ends with its step, and a count once it has a complete span. */
const LONGEST = 200
/** Characters of messages after which an answer ends. */
const LARGEST = 4_000_000
/** Maximum number of patterns that are kept. */
const MAX_PATTERNS = 100

/** A payload that is not ASCII, and matches a pattern in which letters may have marks. */
const MAY_HAVE_MARKS = '(octet_length(j.payload) > length(j.payload) AND has_pattern(j.payload, ?))'
const patterns = new Map()
db.function('has_pattern', { deterministic: true }, (payload, source) => {
  const pattern = patterns.get(source) ?? new RegExp(source, 'iu')
  // Only those of the current request are needed again.
  if (!patterns.has(source) && patterns.size >= MAX_PATTERNS) patterns.clear()
  patterns.set(source, pattern)
  return pattern.test(payload) ? 1 : 0
})

/** The first message at or after a position. */
const firstFrom = db.prepare('SELECT seq, id FROM journal WHERE seq >= ? ORDER BY seq LIMIT 1')
const newest = db.prepare('SELECT seq FROM journal ORDER BY seq DESC LIMIT 1')
const statements = new Map()
const prepare = (text) => {
  const known = statements.get(text) ?? db.prepare(text)
  statements.set(text, known)
  return known
}

parentPort?.on('message', (asked) => {
  try {
    parentPort?.postMessage(asked.width === undefined ? search(asked) : count(asked))
  } catch (thrown) {
    // A posted Error would lose its `errcode`.
    const { message, errcode } = Object(thrown)
    parentPort?.postMessage({ error: { message, errcode }, rows: [] })
  }
})

/** Milliseconds of a UUIDv7: its first 48 bits. */
const timeOf = (id) => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

/**
 * The conditions of a request on `j`, `s` and `r` that the database can evaluate, and their values.
 * The first two values are missing: callers bind the positions of each step.
 */
function conditionsOf(asked) {
  const { id, likes, gateways, withoutGateways, conversation, conversationPart, outcomes, route } = asked
  const { conversationName, withoutRoutes, attempts, error, since, until } = asked
  const conditions = ['j.seq >= ? AND j.seq < ?', 'j.id >= ?', 'j.id < ?']
  const values = [since, until]
  const add = (condition, ...bound) => {
    conditions.push(condition)
    values.push(...bound)
  }
  const addPart = (column, part) =>
    add(`? IN (substr(${column}, 1, ?), substr(${column}, ?))`, part, part.length, -part.length)
  if (id !== undefined) addPart('j.id', id)
  if (conversationPart !== undefined) addPart('lower(coalesce(j.conversation, j.id))', conversationPart)
  if (gateways) add(`j.gateway IN (${gateways.map(() => '?').join()})`, ...gateways)
  if (withoutGateways?.length > 0)
    add(`j.gateway NOT IN (${withoutGateways.map(() => '?').join()})`, ...withoutGateways)
  if (conversationName) {
    const { name, own } = conversationName
    const named = "(SELECT name FROM gateway WHERE id = j.gateway) || ':' || ?"
    add(`(j.conversation = ? OR j.conversation = ${named} OR j.seq = ?)`, name, name, own)
  }
  if (conversation) add('(j.conversation = ? OR j.seq = ?)', conversation.name, conversation.own)
  for (const { pattern, idEnd, folded } of likes) {
    const ways = [
      ['j.payload LIKE ?', pattern],
      idEnd !== undefined && ['substr(j.id, ?) = ?', -idEnd.length, idEnd],
      folded !== undefined && [MAY_HAVE_MARKS, folded],
    ].filter(Boolean)
    add(`(${ways.map(([way]) => way).join(' OR ')})`, ...ways.flatMap(([, ...bound]) => bound))
  }
  if (outcomes) add(`s.outcome IN (${outcomes.map(() => '?').join()})`, ...outcomes)
  if (route !== undefined) add('r.route = ?', route)
  if (withoutRoutes?.length > 0)
    add(`coalesce(r.route, '') NOT IN (${withoutRoutes.map(() => '?').join()})`, ...withoutRoutes)
  if (attempts) add(`${ATTEMPTS} BETWEEN ? AND ?`, attempts.min ?? 0, attempts.max ?? Number.MAX_SAFE_INTEGER)
  if (error !== undefined) add(HAS_ERROR, error)
  return { where: conditions.join(' AND '), values }
}

/** The number of attempts at `j` that have ended: see `attemptsIn` in core/attempt-range.ts. */
const ATTEMPTS = `(SELECT max(count(*), coalesce(max(CAST(detail ->> '$.attempt' AS INTEGER)), 0)) FROM note
  WHERE note.seq = j.seq AND road = 0 AND what IN ('done', 'failed', 'dead')
    AND json_type(detail, '$.attempt') = 'integer' AND json_type(detail, '$.ms') IN ('integer', 'real')
    AND coalesce(detail ->> '$.code', '') <> 'run_cancelled')`

/** Whether an attempt at `j`, or the delivery of its reply, ended with an error that matches a pattern. */
const HAS_ERROR = `EXISTS (SELECT 1 FROM note WHERE note.seq = j.seq
  AND (road = 0 AND what IN ('failed', 'dead') OR road = 2 AND what IN ('send failed', 'dead', 'bounced', 'suppressed'))
  AND has_pattern(coalesce(detail ->> '$.error', detail ->> '$.reason', detail ->> '$.diagnostic', detail ->> '$.status', ''), ?))`

/**
 * The routes of messages cost a look-up for each, so they are only joined for a condition on them.
 */
const withRoutes = ({ route, withoutRoutes, byRoute }) =>
  route === undefined && !withoutRoutes?.length && !byRoute ? '' : 'CROSS JOIN routed r ON r.seq = j.seq'

function search(asked) {
  const { since, until, end, limit } = asked
  const deadline = Date.now() + LONGEST
  const { where, values } = conditionsOf(asked)
  const select = prepare(`SELECT j.seq, j.id, g.name AS gateway, j.received_at, j.payload, s.outcome
    FROM journal j CROSS JOIN gateway g ON g.id = j.gateway CROSS JOIN message_outcome s ON s.seq = j.seq
    ${withRoutes(asked)} WHERE ${where} ORDER BY j.seq DESC LIMIT ?`)

  const rows = []
  let size = 0
  const first = firstFrom.get(0)
  let to = endOf(until, end)
  while (first && to > first.seq) {
    const from = Math.max(first.seq, to - STEP)
    for (const row of select.iterate(from, to, ...values, limit - rows.length)) {
      rows.push(row)
      size += row.payload.length
      if (rows.length >= limit || size > LARGEST) return { rows, next: row.id }
    }
    const reached = firstFrom.get(from)
    // Ids sort by time.
    if (from === first.seq || !reached || reached.id < since) break
    if (Date.now() > deadline) return { rows, next: reached.id }
    to = from
  }
  return { rows }
}

/**
 * Binary search for the first position that is not before `until`: ids sort by time, as positions
 * do.
 */
function endOf(until, end) {
  let low = firstFrom.get(0)?.seq ?? 0
  let high = Math.min(end, (newest.get()?.seq ?? 0) + 1)
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const found = firstFrom.get(middle)
    if (!found || found.id >= until) high = middle
    else low = found.seq + 1
  }
  return low
}

/**
 * Counts messages by the times in their ids, from the end. After the time limit it stops once it
 * has counted a complete span.
 */
function count(asked) {
  const { outcomes, since, until, end, width, byRoute } = asked
  const deadline = Date.now() + LONGEST
  const { where, values } = conditionsOf(asked)
  const withOutcomes = outcomes ? 'CROSS JOIN message_outcome s ON s.seq = j.seq' : ''
  const select = prepare(
    `SELECT j.id${byRoute ? ', r.route' : ''} FROM journal j ${withOutcomes} ${withRoutes(asked)} WHERE ${where}`,
  )
  const spanOf = (id) => Math.floor(timeOf(id) / width) * width

  const counts = new Map()
  const first = firstFrom.get(0)
  let to = endOf(until, end)
  /**
   * End of the span in which the first step stopped. This span is complete once a step stops in an
   * earlier one.
   */
  let firstEnd
  while (first && to > first.seq) {
    const from = Math.max(first.seq, to - STEP)
    for (const { id, route } of select.iterate(from, to, ...values)) {
      const at = spanOf(id)
      const key = `${at} ${route ?? ''}`
      const known = counts.get(key) ?? { at, count: 0, ...(route && { route }) }
      known.count++
      counts.set(key, known)
    }
    const reached = firstFrom.get(from)
    if (from === first.seq || !reached || reached.id < since) break
    // The span of the oldest message so far may be incomplete. It is left out, but at least one
    // complete span is counted.
    const countedTo = spanOf(reached.id) + width
    firstEnd ??= countedTo
    if (Date.now() > deadline && countedTo < firstEnd) {
      for (const [key, { at }] of counts) if (at < countedTo) counts.delete(key)
      return { rows: [], counts: sorted(counts), countedTo }
    }
    to = from
  }
  return { rows: [], counts: sorted(counts) }
}

function sorted(counts) {
  return [...counts.values()].sort((a, b) => b.at - a.at)
}
