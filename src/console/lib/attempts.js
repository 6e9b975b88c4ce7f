import { useEffect, useState } from 'preact/hooks'
import { invoke } from './api.js'
import { now } from './live.js'

/** How long (ms) a row waits for others, to be requested together. */
const WAIT = 60
/** Minimum time (ms) between two requests for messages that have just come in. */
const INTERVAL = 1_000
/** Age (ms) below which a message has just come in. Rows of older ones are scrolled to, or opened. */
const NEW = 10_000
/** How long (ms) to wait for the response to a request before the next one. */
const MAX_RESPONSE_TIME = 15_000
/** Maximum number of rows in one call. */
const BATCH = 100
/** Maximum number of attempts kept. */
const MAX_KNOWN = 5_000
/** Outcomes of messages without an attempt, made or planned. */
const WITHOUT_ATTEMPT = new Set(['unrouted', 'merged', undefined])

/** Outcomes of messages that a pause may hold. */
const HELD = new Set(['waiting', 'retrying'])

/** A text that changes with the pauses. */
function currentPauses() {
  const paused = now.value?.troubles?.filter(({ code }) => code === 'paused') ?? []
  return paused.map(({ key, since }) => `${key} ${since}`).join()
}

/** Known attempts, by message, outcome and (for held messages) the current pauses. */
const known = new Map()
/** Functions that render the rows whose attempts are still to be loaded, by the same key. */
const wanted = new Map()
let timer
/** When `timer` ends, and when the last request began (ms, as `performance.now`). */
let dueAt = 0
let requestedAt = Number.NEGATIVE_INFINITY
let isLoading = false

/** The last attempt on a message, loaded for the rows that are on the screen. */
export function useAttempt({ id, at, outcome }) {
  const key = `${id} ${outcome}${HELD.has(outcome) ? ` ${currentPauses()}` : ''}`
  const [, setTurn] = useState(0)
  useEffect(() => {
    if (WITHOUT_ATTEMPT.has(outcome) || known.has(key)) return undefined
    const show = () => setTurn((turn) => turn + 1)
    const row = wanted.get(key) ?? { isNew: Date.now() - at < NEW, listeners: new Set() }
    row.listeners.add(show)
    wanted.set(key, row)
    schedule()
    return () => {
      row.listeners.delete(show)
      if (row.listeners.size === 0 && wanted.get(key) === row) wanted.delete(key)
    }
  }, [key])
  return known.get(key)
}

/** Plans the next request, or an earlier one than planned. At most one is under way. */
function schedule() {
  if (isLoading || wanted.size === 0) return
  const now = performance.now()
  const areNew = [...wanted.values()].every(({ isNew }) => isNew)
  const due = Math.max(now + WAIT, areNew ? requestedAt + INTERVAL : 0)
  if (timer !== undefined && dueAt <= due) return
  clearTimeout(timer)
  dueAt = due
  timer = setTimeout(load, due - now)
}

async function load() {
  timer = undefined
  const rows = [...wanted].slice(0, BATCH)
  if (rows.length === 0) return
  for (const [key] of rows) wanted.delete(key)
  const ids = rows.map(([key]) => key.split(' ')[0])
  isLoading = true
  requestedAt = performance.now()
  // If the call fails, the columns stay empty until the row is shown again.
  const found = await invoke(
    'message-attempts',
    { ids: [...new Set(ids)] },
    AbortSignal.timeout(MAX_RESPONSE_TIME),
  ).catch(() => [])
  isLoading = false
  schedule()
  if (known.size > MAX_KNOWN) known.clear()
  for (const [place, [key]] of rows.entries()) {
    const attempt = found.find((each) => each.id === ids[place])
    if (attempt) known.set(key, attempt)
  }
  for (const [, { listeners }] of rows) for (const show of listeners) show()
}
