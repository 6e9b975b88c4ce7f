import { EventEmitter } from 'node:events'
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
  const emitter = new EventEmitter().setMaxListeners(0)
  return {
    has: (name) => emitter.listenerCount(name) > 0,
    call: (name) => {
      for (const each of name === undefined ? emitter.eventNames() : [name]) emitter.emit(each)
    },
    on: (name, listener) => {
      const own = () => {
        try {
          listener()
        } catch (error) {
          log.error({ signal: name, reason: reasonOf(error) }, 'a listener of a store signal failed')
        }
      }
      emitter.on(name, own)
      return () => emitter.off(name, own)
    },
  }
}
