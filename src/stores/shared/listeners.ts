import { EventEmitter } from 'node:events'
import { reasonOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { Signal } from '../../core/store.ts'

/** The listeners of a store's signals. */
export function createListeners(log: Log) {
  const emitter = new EventEmitter().setMaxListeners(0)
  const followers = new Map<string, (partition?: number) => void>()
  return {
    has: (name: Signal) => emitter.listenerCount(name) > 0,
    /** Calls the listeners of one signal, or of all. An error in one does not affect others. */
    call: (name?: string, partition?: number) => {
      for (const [each, changed] of followers) if (name === undefined || name === each) changed(partition)
      for (const each of name === undefined ? emitter.eventNames() : [name]) emitter.emit(each, partition)
    },
    /** Registers a permanent callback that runs before the listeners and does not count as one. */
    onCall: (name: Signal, changed: (partition?: number) => void) => void followers.set(name, changed),
    /** See `onSignal` of the store. */
    on: (name: Signal, listener: (partition?: number) => void) => {
      const own = (partition?: number) => {
        try {
          listener(partition)
        } catch (error) {
          log.error({ signal: name, reason: reasonOf(error) }, 'a listener of a store signal failed')
        }
      }
      emitter.on(name, own)
      return () => void emitter.off(name, own)
    },
  }
}
