import { effect } from '@preact/signals'
import { person } from './api.js'

const kept = new Map()
/** Maximum number of values; the oldest is forgotten first. */
const MAX_VALUES = 50

// The next person who signs in to this tab does not get them.
effect(() => {
  if (person.value === null) kept.clear()
})

/**
 * The last known value for a name, in this tab. A reopened page shows it until `value`, the new
 * one, is loaded.
 */
export function keptValue(name, value) {
  if (value === undefined) return kept.get(name)
  kept.delete(name)
  kept.set(name, value)
  if (kept.size > MAX_VALUES) kept.delete(kept.keys().next().value)
  return value
}
