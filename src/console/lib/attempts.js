import { useEffect, useState } from 'preact/hooks'
import { invoke } from './api.js'
import { now } from './live.js'

/** How long (ms) a row waits for others, to be requested together. */
const WAIT = 60
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

/** The last attempt on a message, loaded for the rows that are on the screen. */
export function useAttempt({ id, outcome }) {
  const key = `${id} ${outcome}${HELD.has(outcome) ? ` ${currentPauses()}` : ''}`
  const [, setTurn] = useState(0)
  useEffect(() => {
    if (WITHOUT_ATTEMPT.has(outcome) || known.has(key)) return undefined
    const show = () => setTurn((turn) => turn + 1)
    wanted.set(key, [...(wanted.get(key) ?? []), show])
    if (timer === undefined) timer = setTimeout(load, WAIT)
    return () => wanted.get(key)?.splice(wanted.get(key).indexOf(show), 1)
  }, [key])
  return known.get(key)
}

async function load() {
  timer = undefined
  const keys = [...wanted.keys()].slice(0, BATCH)
  const rows = keys.map((key) => [key, wanted.get(key)])
  for (const key of keys) wanted.delete(key)
  if (wanted.size > 0) timer = setTimeout(load)
  const ids = keys.map((key) => key.split(' ')[0])
  // If the call fails, the columns stay empty until the row is shown again.
  const found = await invoke('message-attempts', { ids: [...new Set(ids)] }).catch(() => [])
  if (known.size > MAX_KNOWN) known.clear()
  for (const [at, id] of ids.entries()) {
    const attempt = found.find((each) => each.id === id)
    if (attempt) known.set(keys[at], attempt)
  }
  for (const [, listeners] of rows) for (const show of listeners) show()
}
