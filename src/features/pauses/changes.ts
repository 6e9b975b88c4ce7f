import { TriviumError } from '../../core/errors.ts'
import type { Pauses } from './pauses.ts'
import { gatewayOf, isSame, type Pause } from './records.ts'

const MOST_CONVERSATIONS = 1_000

/** Starts and ends pauses in the store. A new pause replaces an existing one of the same object. */
export function createChanges(pauses: Pauses) {
  const begin = async (pause: Pause) => {
    await pauses.change(({ pauses, cancels }) => {
      const others = pauses.filter((one) => !isSame(one, pause))
      const conversations = others.filter(({ kind }) => kind === 'conversation').length
      if (conversations >= MOST_CONVERSATIONS && pause.kind === 'conversation') {
        const todo = 'Resume some with `conversation-resume`, or pause the gateway.'
        throw new TriviumError('limit_reached', {
          what: 'Paused conversations',
          limit: MOST_CONVERSATIONS,
          todo,
        })
      }
      return { pauses: [...others, pause], cancels }
    })
    return { ok: true, paused: true, pause }
  }
  /** A pause can be ended even if its object no longer exists; otherwise the object must exist. */
  const end = async (target: Pick<Pause, 'kind' | 'name'> & { gateway?: string }, check: () => unknown) => {
    const fits = (one: Pause) =>
      one.kind === target.kind &&
      one.name === target.name &&
      (target.gateway === undefined || gatewayOf(one) === target.gateway)
    const isPaused = pauses.view.state().pauses.some(fits) || (await pauses.records.load()).pauses.some(fits)
    if (!isPaused) await check()
    else await pauses.change((state) => ({ ...state, pauses: state.pauses.filter((one) => !fits(one)) }))
    return { ok: true, paused: false, existed: isPaused }
  }

  return { begin, end }
}
