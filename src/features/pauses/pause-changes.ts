import { TriviumError } from '../../core/errors.ts'
import type { Pauses } from './pauses.ts'
import { gatewayOf, isSame, type Pause } from './records.ts'

/** Maximum number of paused conversations. */
const MAX_CONVERSATIONS = 1_000

/** Starts and ends pauses in the store. A new pause replaces an existing one of the same object. */
export function createPauseChanges(pauses: Pauses) {
  const begin = async (pause: Pause) => {
    await pauses.change(({ pauses, cancels }) => {
      const others = pauses.filter((one) => !isSame(one, pause))
      const conversations = others.filter(({ kind }) => kind === 'conversation').length
      if (conversations >= MAX_CONVERSATIONS && pause.kind === 'conversation') {
        throw new TriviumError('limit_reached', {
          what: 'Paused conversations',
          limit: MAX_CONVERSATIONS,
          todo: 'Resume some with `conversation-resume`, or pause the gateway.',
        })
      }
      return { pauses: [...others, pause], cancels }
    })
    return { ok: true, paused: true, pause }
  }
  /**
   * Ends a pause, also of an object that no longer exists. Without a pause, the object must exist:
   * `requireObject` throws otherwise.
   */
  const end = async (
    target: Pick<Pause, 'kind' | 'name'> & { gateway?: string },
    requireObject: () => unknown,
  ) => {
    const isTarget = (one: Pause) =>
      one.kind === target.kind &&
      one.name === target.name &&
      (target.gateway === undefined || gatewayOf(one) === target.gateway)
    // This daemon may not know a new pause yet.
    const isPaused =
      pauses.view.state().pauses.some(isTarget) || (await pauses.records.load()).pauses.some(isTarget)
    if (!isPaused) await requireObject()
    else await pauses.change((state) => ({ ...state, pauses: state.pauses.filter((one) => !isTarget(one)) }))
    return { ok: true, paused: false, existed: isPaused }
  }

  return { begin, end }
}
