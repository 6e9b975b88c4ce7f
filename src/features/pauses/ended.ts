import { DAY } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import { type EndedPause, isSame, type Pause, type PauseState } from './records.ts'

/** How long (ms) an ended pause is kept. */
const RETENTION = 30 * DAY
/** Maximum number of ended pauses that are kept: of conversations, and separately of all others. */
const MAX_ENDED = 100

/**
 * Returns the state `after` a change, with the pauses that the change ended. `at`: the time of the
 * change (Unix ms). `by`: who resumed; undefined for pauses that ended by themselves.
 */
export function withEnded(before: PauseState, after: PauseState, at: number, by?: string): PauseState {
  const continues = (pause: Pause) =>
    after.pauses.some((other) => isSame(other, pause) && other.since === pause.since)
  const isOver = ({ until }: Pause) => until !== undefined && until <= at
  const ended = before.pauses
    .filter((pause) => !continues(pause))
    .map((pause): EndedPause => {
      const end = isOver(pause)
        ? { endedAt: pause.until ?? at }
        : { endedAt: at, ...defined({ endedBy: by }) }
      return { ...pause, ...end }
    })
  const all = [...(before.ended ?? []), ...ended].filter(({ endedAt }) => endedAt > at - RETENTION)
  return all.length === 0 ? after : { ...after, ended: newestOf(all) }
}

/** Counts conversations apart: those of a busy mailbox must not displace all other pauses. */
function newestOf(ended: readonly EndedPause[]): EndedPause[] {
  const ofConversations = ended.filter(({ kind }) => kind === 'conversation').slice(-MAX_ENDED)
  const others = ended.filter(({ kind }) => kind !== 'conversation').slice(-MAX_ENDED)
  return [...others, ...ofConversations].sort((a, b) => a.endedAt - b.endedAt)
}
