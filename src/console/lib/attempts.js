import { useEffect, useReducer, useRef, useState } from 'preact/hooks'
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

/** When (ms) to load an attempt again that runs, or is due; none that begins after `max`. */
const RENEW = { running: 2_000, due: 3_000, max: 86_400_000 }

/** Known attempts, by message, outcome and (for held messages) the current pauses. */
const known = new Map()
/** Functions that render the rows whose attempts are still to be loaded, by the same key. */
const wanted = new Map()
let timer
/** When `timer` ends, and when the last request began (ms, as `performance.now`). */
let dueAt = 0
let requestedAt = Number.NEGATIVE_INFINITY
let isLoading = false

/** Functions that load the attempts of shown rows again, by message. */
const shown = new Map()

/** Loads the attempt on a message again: another one has ended, perhaps with the same outcome. */
export function renewAttempt(id) {
  for (const key of known.keys()) if (key.startsWith(`${id} `)) known.delete(key)
  for (const renew of shown.get(id) ?? []) renew()
}

/** The last attempt on a message, loaded for the rows that are on the screen. */
export function useAttempt({ id, at, outcome }) {
  const key = `${id} ${outcome}${HELD.has(outcome) ? ` ${currentPauses()}` : ''}`
  const [, setTurn] = useState(0)
  const [renewed, renew] = useReducer((times) => times + 1, 0)
  useEffect(() => {
    const listeners = shown.get(id) ?? new Set()
    shown.set(id, listeners.add(renew))
    return () => {
      listeners.delete(renew)
      if (listeners.size === 0) shown.delete(id)
    }
  }, [id])
  const keyBefore = useRef(key)
  useEffect(() => {
    // Once the outcome has changed, what was known with the one before is old.
    if (keyBefore.current !== key) known.delete(keyBefore.current)
    keyBefore.current = key
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
  }, [key, renewed])
  // While it is loaded again, the row keeps what it shows.
  const last = useRef()
  const attempt = known.get(key) ?? (last.current?.key === key ? last.current.attempt : undefined)
  last.current = { key, attempt }
  useEffect(() => {
    const wait = outcome === 'retrying' || outcome === 'replying' ? waitOf(attempt) : undefined
    if (wait === undefined) return undefined
    const timer = setTimeout(() => renewAttempt(id), wait)
    return () => clearTimeout(timer)
  }, [attempt])
  return attempt
}

/**
 * How long (ms) until the attempt on a message in back-off is loaded again. The stream does not
 * report an attempt that fails like the one before. Undefined: not again.
 */
function waitOf({ since, nextAt, pausedBy, budget } = {}) {
  if (pausedBy || budget) return undefined
  if (since !== undefined) return RENEW.running
  const left = nextAt - Date.now()
  return left < RENEW.max ? Math.max(left, 0) + RENEW.due : undefined
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
