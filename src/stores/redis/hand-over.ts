import { randomUUID } from 'node:crypto'
import { TriviumError } from '../../core/errors.ts'

/**
 * Makes calls that consume safe against a lost answer. Each call gets a slot of its own while it is under
 * way and a number that never comes again; `lua/lib/unheard.lua` records under them what was handed out.
 * Where no answer came, the next call names them, and Redis takes back what they stand for.
 */
export type HandOver = {
  /**
   * Calls `send` with four arguments for the script: this daemon, slot, number, and what is unheard. The
   * unheard count as settled once `send` resolves.
   */
  call<T>(send: (args: [string, number, number, string]) => Promise<T>): Promise<T>
}

export function createHandOver(): HandOver {
  const daemon = randomUUID()
  const free: number[] = []
  const unheard = new Map<number, number>()
  let slots = 0
  let numbers = 0

  return {
    call: async (send) => {
      const slot = free.pop() ?? slots++
      const number = ++numbers
      const before = [...unheard]
      try {
        const answer = await send([daemon, slot, number, before.flat().join(' ')])
        for (const [old, oldNumber] of before) {
          // Of calls under way at once, several name the same one; it is free once.
          if (unheard.get(old) !== oldNumber) continue
          unheard.delete(old)
          free.push(old)
        }
        free.push(slot)
        return answer
      } catch (error) {
        if (error instanceof TriviumError && error.retryable) unheard.set(slot, number)
        else free.push(slot)
        throw error
      }
    },
  }
}
