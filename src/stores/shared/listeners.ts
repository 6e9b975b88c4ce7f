import { reasonOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { Signal } from '../../core/store.ts'

/** Who listens to which signal of a store. */
export type Listeners = {
  /** As `onSignal` of the store. */
  on(name: Signal, listener: () => void): () => void
  has(name: string): boolean
  /** Calls those of one signal, or of all. A listener that throws harms no other. */
  call(name?: string): void
}

export function createListeners(log: Log): Listeners {
  const listeners = new Map<string, Set<() => void>>()

  function callAll(name: string): void {
    for (const listener of [...(listeners.get(name) ?? [])]) {
      try {
        listener()
      } catch (error) {
        log.error({ signal: name, reason: reasonOf(error) }, 'a listener of a store signal failed')
      }
    }
  }

  return {
    has: (name) => listeners.has(name),
    call: (name) => {
      for (const each of name === undefined ? [...listeners.keys()] : [name]) callAll(each)
    },
    on: (name, listener) => {
      // The same function may listen twice.
      const own = () => listener()
      const set = listeners.get(name) ?? new Set()
      listeners.set(name, set.add(own))
      return () => {
        set.delete(own)
        if (set.size === 0 && listeners.get(name) === set) listeners.delete(name)
      }
    },
  }
}
