import { MINUTE } from '../../core/units.ts'

/** Whether an attempt has run for long enough to be worth a mention: most end within seconds. */
export function hasRunLong(since: unknown): boolean {
  return typeof since === 'number' && Date.now() - since >= MINUTE
}
