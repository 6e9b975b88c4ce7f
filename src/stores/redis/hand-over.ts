import { randomUUID } from 'node:crypto'
import { TriviumError } from '../../core/errors.ts'
import { wasNotSent } from './failure.ts'

/** Three arguments for the script: this daemon, the number of the call, and those of the calls that are unheard. */
type Handing = [string, number, string]

/**
 * Makes calls that hand something out safe against a lost answer. Each call gets a number that never comes again;
 * `lua/lib/unheard.lua` records under it what was handed out. Where no answer came, the next call of the same name tells
 * so, and Redis takes back what was handed out.
 */
export function createHandOver() {
  const daemon = randomUUID()
  const unheard = new Map<string, Set<number>>()
  let numbers = 0

  return async <T>(name: string, send: (handing: Handing) => Promise<T>): Promise<T> => {
    const number = ++numbers
    const told = [...(unheard.get(name) ?? [])]
    try {
      const answer = await send([daemon, number, told.join(' ')])
      const left = unheard.get(name)
      for (const each of told) left?.delete(each)
      if (left?.size === 0) unheard.delete(name)
      return answer
    } catch (error) {
      if (error instanceof TriviumError && error.retryable && !wasNotSent(error))
        unheard.set(name, (unheard.get(name) ?? new Set()).add(number))
      throw error
    }
  }
}
