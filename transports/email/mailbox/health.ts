import type { Health } from '../../../src/core/transport.ts'
import type { Aside } from './cursor.ts'

export type FolderState = {
  /** Last successful read, or else the start (Unix ms). */
  progressAt: number
  /** Whether the folder was read successfully since the start. */
  wasRead: boolean
  aside: readonly Aside[]
  /** Current problem. */
  error?: string | undefined
}

/** Maximum number of mails set aside that are listed. */
const MAX_LISTED = 10

/**
 * The health of a mailbox by the states of its folders. Of several problems, the first that makes
 * it unhealthy is shown: a folder that was never read, or not for `maxSilence` ms. `now`: Unix ms.
 */
export function healthOf(states: ReadonlyMap<string, FolderState>, maxSilence: number, now: number): Health {
  if (states.size === 0) return { ok: true, detail: 'another daemon reads the mailbox, or none yet' }
  const problems = [...states].flatMap(([folder, state]) => problemOf(folder, state, maxSilence, now) ?? [])
  const worst = problems.find(({ ok }) => !ok) ?? problems[0]
  if (worst) return worst
  return { ok: true, detail: [`reading ${[...states.keys()].join(', ')}`, ...asideIn(states)].join('; ') }
}

function problemOf(
  folder: string,
  { progressAt, wasRead, error }: FolderState,
  maxSilence: number,
  now: number,
): Health | undefined {
  const silence = now - progressAt
  const why = error ? `: ${error}` : ''
  // The text has no time: `since` has it. After a restart, it may be the time of an earlier daemon.
  if (silence > maxSilence) return { ok: false, detail: `${folder} cannot be read${why}`, since: progressAt }
  if (!error) return undefined
  const retrying = `${folder} cannot be read${why}; trying again`
  return wasRead
    ? { ok: true, detail: retrying, warning: retrying }
    : { ok: false, detail: retrying, since: progressAt }
}

/** Describes the mails set aside. */
function asideIn(states: ReadonlyMap<string, FolderState>): string[] {
  const why = (each: Aside) => (each.unfetchable ? 'cannot be fetched' : 'its sender cannot be verified yet')
  const all = [...states].flatMap(([folder, { aside }]) =>
    aside.map((each) => `mail ${each.uid} of ${folder} (${why(each)})`),
  )
  return all.length > 0 ? [`set aside: ${all.length}: ${all.slice(0, MAX_LISTED).join(', ')}`] : []
}
