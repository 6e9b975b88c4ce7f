import { EventEmitter } from 'node:events'
import { reasonOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { Signal } from '../../core/store.ts'

/** Who listens to which signal of a store. */
export function createListeners(log: Log) {
  const emitter = new EventEmitter().setMaxListeners(0)
  const followers = new Map<string, (partition?: number) => void>()
  return {
    has: (name: Signal) => emitter.listenerCount(name) > 0,
    /** Calls those of one signal, or of all. A listener that throws harms no other. */
    call: (name?: string, partition?: number) => {
      for (const [each, heard] of followers) if (name === undefined || name === each) heard(partition)
      for (const each of name === undefined ? emitter.eventNames() : [name]) emitter.emit(each, partition)
    },
    /** Tells one, before all others, and for ever. It does not count as a listener. */
    onCall: (name: Signal, heard: (partition?: number) => void) => void followers.set(name, heard),
    /** As `onSignal` of the store. */
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
