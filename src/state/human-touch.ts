import { TriviumError } from '../core/errors.ts'
import type { Actor } from './document.ts'

/** How long agents stay away from what a person edited, in ms. */
const HUMAN_GRACE = 5000

/**
 * A document's guard: refuses an agent's write within five seconds of a person's edit, with `state_human_touch`
 * (retryable). People and the system may always write.
 */
export function refuseAfterHumanTouch(name: string) {
  return (
    document: { last_human_touch: string | null },
    { actor, now }: { actor: Actor; now: number },
  ): void => {
    if (actor.kind !== 'agent' || document.last_human_touch === null) return
    const age = now - Date.parse(document.last_human_touch)
    // A time in the future is a clock that was wrong, not an edit.
    if (age >= HUMAN_GRACE || age < -HUMAN_GRACE) return
    const seconds = Math.max(0, age / 1000).toFixed(1)
    throw new TriviumError('state_human_touch', { name, seconds, grace: HUMAN_GRACE / 1000 })
  }
}
