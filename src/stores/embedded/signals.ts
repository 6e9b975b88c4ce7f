import type { Log } from '../../core/log.ts'
import type { Signal } from '../../core/store.ts'
import { createListeners, type Listeners } from '../shared/listeners.ts'
import type { Writer } from './writer.ts'

export type Signals = {
  /** Inside a transaction: calls the listeners once it is durable, once however often it was raised. */
  raise(name: Signal): void
  on: Listeners['on']
}

/** Signals within this process; no other has the store open. */
export function createSignals(writer: Writer, log: Log): Signals {
  const listeners = createListeners(log)
  const raised = new Set<Signal>()

  writer.follow({
    committed: (whenSettled) => {
      const names = [...raised]
      raised.clear()
      const announce = () => {
        for (const name of names) listeners.call(name)
      }
      if (names.length > 0) whenSettled(announce)
    },
    rolledBack: () => raised.clear(),
  })

  return {
    on: listeners.on,
    raise: (name) => {
      if (listeners.has(name)) raised.add(name)
    },
  }
}
