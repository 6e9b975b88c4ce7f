import { reasonOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { Signal } from '../../core/store.ts'
import type { Writer } from './writer.ts'

export type Signals = {
  /** Inside a transaction: calls the listeners once it is durable, once however often it was raised. */
  raise(name: Signal): void
  on(name: Signal, listener: () => void): () => void
}

/** Signals within this process; no other has the store open. */
export function createSignals(writer: Writer, log: Log): Signals {
  const listeners = new Map<Signal, Set<() => void>>()
  const raised = new Set<Signal>()

  writer.follow({
    committed: (whenSettled) => {
      const names = [...raised]
      raised.clear()
      if (names.length > 0) whenSettled(() => announce(names))
    },
    rolledBack: () => raised.clear(),
  })

  function announce(names: Signal[]): void {
    for (const name of names) for (const listener of [...(listeners.get(name) ?? [])]) call(name, listener)
  }

  function call(name: Signal, listener: () => void): void {
    try {
      listener()
    } catch (error) {
      log.error({ signal: name, reason: reasonOf(error) }, 'a listener of a store signal failed')
    }
  }

  return {
    raise: (name) => {
      if (listeners.has(name)) raised.add(name)
    },
    on: (name, listener) => {
      const own = () => listener()
      const set = listeners.get(name) ?? new Set()
      set.add(own)
      listeners.set(name, set)
      return () => {
        set.delete(own)
        if (set.size === 0 && listeners.get(name) === set) listeners.delete(name)
      }
    },
  }
}
