import { isInProgress } from './outcomes.ts'

type Job = { outcomes?: object | undefined; later?: unknown }

/** What later jobs left of a message: it failed once more. */
const FAILED_SINCE = new Set<unknown>(['dead', 'undelivered', 'bounced'])

/**
 * How many messages or events of a job failed permanently, without those that were done or dropped
 * since.
 */
export function openFailures({ outcomes = {}, later }: Job): number {
  const dead = Number(Object(outcomes).dead ?? 0)
  const settled = (Array.isArray(later) ? later : []).reduce<number>((sum, each) => {
    return isSettled(Object(each)) ? sum + Number(Object(each).count ?? 0) : sum
  }, 0)
  return Math.max(0, dead - settled)
}

function isSettled({ do: verb, now, withdrawn }: { do?: unknown; now?: unknown; withdrawn?: unknown }) {
  if (verb === 'replay' || withdrawn === true) return false
  return !FAILED_SINCE.has(now) && !isInProgress({ [String(now)]: 1 })
}
