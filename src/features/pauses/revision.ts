import { hash } from 'node:crypto'
import type { PauseState } from './records.ts'

const known = new WeakMap<PauseState, string>()

/**
 * A text that is another one after each change of the pauses, also after a pause that has begun and
 * ended.
 */
export function revisionOf(state: PauseState): string {
  const { pauses, ended = [] } = state
  const revision = known.get(state) ?? hash('sha256', JSON.stringify([pauses, ended])).slice(0, 12)
  known.set(state, revision)
  return revision
}
