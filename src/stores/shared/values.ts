import type { AttemptError, DeadReason } from '../../core/store.ts'

/** Reads back the reason of a dead letter. */
export function toReason(text: string | undefined): DeadReason {
  return text === 'permanent' || text === 'ambiguous' ? text : 'attempts'
}

/** The error that a job died of. */
export function lastOf(errors: readonly AttemptError[]): AttemptError {
  return errors.at(-1) ?? { at: 0, code: 'internal', message: 'unknown' }
}

/** The override for a gateway or a topic, where there is one; names may be anything. */
export function ownOf<T>(overrides: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(overrides, name) ? overrides[name] : undefined
}
