import { TriviumError } from '../../core/errors.ts'
import { changedPause, pauseChange, withStartOf } from '../../core/pause-record.ts'
import type { Pauses } from './pauses.ts'
import { gatewayOf, isSame, type Pause } from './records.ts'

/** Maximum number of paused conversations. */
const MAX_CONVERSATIONS = 1_000

/**
 * Starts and ends pauses in the store. A new pause changes an existing one of the same object.
 */
export function createPauseChanges(pauses: Pauses) {
  const begin = async (begun: Pause) => {
    let pause = begun
    let replaced: Pause | undefined
    await pauses.change((state) => {
      replaced = state.pauses.find((one) => isSame(one, begun))
      // A person who takes over a conversation from another has it from then on.
      pause = (begun.kind === 'conversation' ? withStartOf : changedPause)(replaced, begun)
      const others = state.pauses.filter((one) => !isSame(one, pause))
      const conversations = others.filter(({ kind }) => kind === 'conversation').length
      if (conversations >= MAX_CONVERSATIONS && pause.kind === 'conversation') {
        throw new TriviumError('limit_reached', {
          what: 'Paused conversations',
          limit: MAX_CONVERSATIONS,
          todo: 'Resume some with `conversation-resume`, or pause the gateway.',
        })
      }
      return { ...state, pauses: [...others, pause] }
    }, begun.by)
    return { ok: true, paused: true, pause, changes: pauseChange(replaced, pause) }
  }
  /**
   * Ends a pause, also of an object that no longer exists. Without a pause, the object must exist:
   * `requireObject` throws otherwise.
   */
  const end = async (
    target: Pick<Pause, 'kind' | 'name'> & { gateway?: string },
    requireObject: () => unknown,
    by: string,
  ) => {
    const isTarget = (one: Pause) =>
      one.kind === target.kind &&
      one.name === target.name &&
      (target.gateway === undefined || gatewayOf(one) === target.gateway)
    // This daemon may not know a new pause yet.
    const ended =
      pauses.view.state().pauses.find(isTarget) ?? (await pauses.records.load()).pauses.find(isTarget)
    if (!ended) await requireObject()
    else
      await pauses.change((state) => ({ ...state, pauses: state.pauses.filter((one) => !isTarget(one)) }), by)
    const changes = ended && { changes: pauseChange(ended, undefined) }
    return { ok: true, paused: false, existed: ended !== undefined, ...changes }
  }

  return { begin, end }
}
