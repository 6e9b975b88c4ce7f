import { randomUUID } from 'node:crypto'
import { TriviumError } from '../../core/errors.ts'
import { wasNotSent } from './redis-error.ts'

/** Three script arguments: this daemon, the call's number, and the numbers of unanswered calls. */
export type Handing = [string, number, string]

/** Ms after which the work of a lost reply is given back, if no other call does so before. */
const GIVE_BACK = 1_000

/**
 * Protects calls that hand out work against lost replies. `lua/lib/unheard.lua` records, under the
 * number of a call, what the call handed out. The next call of the same name reports the unanswered
 * numbers, and Redis takes their work back. `giveBack` is a call that only reports, with number 0:
 * the consumer may ask another daemon next. Endless loops of calls do not need it.
 */
export function createHandOver(
  giveBack?: (name: string, handing: Handing) => Promise<unknown>,
  isClosed: () => boolean = () => false,
) {
  const daemon = randomUUID()
  const unanswered = new Map<string, Set<number>>()
  let numbers = 0

  async function sendWith<T>(
    name: string,
    number: number,
    send: (handing: Handing) => Promise<T>,
  ): Promise<T> {
    const reported = [...(unanswered.get(name) ?? [])]
    const answer = await send([daemon, number, reported.join(' ')])
    const left = unanswered.get(name)
    for (const each of reported) left?.delete(each)
    return answer
  }

  function giveBackSoon(name: string) {
    if (!giveBack) return
    const again = () => giveBackSoon(name)
    const look = () => {
      // One loop per name: it ends with the set's removal, so an empty set means that it still
      // runs.
      if (!unanswered.get(name)?.size || isClosed()) unanswered.delete(name)
      else sendWith(name, 0, (handing) => giveBack(name, handing)).then(again, again)
    }
    setTimeout(look, GIVE_BACK).unref()
  }

  return async <T>(name: string, send: (handing: Handing) => Promise<T>): Promise<T> => {
    const number = ++numbers
    try {
      return await sendWith(name, number, send)
    } catch (error) {
      if (error instanceof TriviumError && error.retryable && !wasNotSent(error)) {
        if (!unanswered.has(name)) giveBackSoon(name)
        unanswered.set(name, (unanswered.get(name) ?? new Set()).add(number))
      }
      throw error
    }
  }
}
