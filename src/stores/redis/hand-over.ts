import { randomUUID } from 'node:crypto'
import { TriviumError } from '../../core/errors.ts'
import { wasNotSent } from './failure.ts'

/** Four arguments for the script: this daemon, slot, number, and the calls that are unheard as `slot number …`. */
type Handing = [string, number, number, string]

/**
 * Makes calls that hand something out safe against a lost answer. Each call gets a number that never comes again, and
 * while it is under way a slot of its own; `lua/lib/unheard.lua` records under them what was handed out. Where no
 * answer came, the next call of the same name tells so, and Redis takes back what was handed out.
 */
export type HandOver = <T>(name: string, send: (handing: Handing) => Promise<T>) => Promise<T>

/** How many slots there are, those that are free, and the unheard calls, each with its slot. */
type State = { slots: number; free: number[]; unheard: Map<number, number> }

export function createHandOver(): HandOver {
  const daemon = randomUUID()
  const states = new Map<string, State>()
  let numbers = 0

  return async (name, send) => {
    const state: State = states.get(name) ?? { slots: 0, free: [], unheard: new Map() }
    states.set(name, state)
    const { free, unheard } = state
    const number = ++numbers
    const slot = free.pop() ?? state.slots++
    const told = [...unheard]
    try {
      const answer = await send([daemon, slot, number, told.map(([old, its]) => `${its} ${old}`).join(' ')])
      // Of calls under way at once, several tell of the same one; its slot is free once.
      for (const [old, its] of told) if (unheard.delete(old)) free.push(its)
      free.push(slot)
      return answer
    } catch (error) {
      if (error instanceof TriviumError && error.retryable && !wasNotSent(error)) unheard.set(number, slot)
      else free.push(slot)
      throw error
    } finally {
      if (free.length === state.slots) states.delete(name)
    }
  }
}
