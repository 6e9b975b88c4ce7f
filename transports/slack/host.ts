import type { Json, JsonObject } from '../../src/core/json.ts'
import type { Message, NewMessage } from '../../src/core/message.ts'
import type { TransportDeps } from '../../src/core/transport.ts'

/** Dependencies of Slack gateways on the daemon: interactive skills, and the needs of Bolt apps. */
export type SlackHost = {
  /**
   * Invokes a skill for a waiting person, such as for the options of a select; nothing is stored.
   * Throws after `timeout` ms.
   */
  ask(skill: string, args: JsonObject, asker: { from: Message['from']; timeout: number }): Promise<Json>
  /** User code outside the skills folders. */
  modules: {
    /**
     * Calls `changed` after changes of code in the file's folder. Resolves with a function that
     * stops watching.
     */
    watch(file: string, changed: () => Promise<void>): Promise<() => Promise<void>>
  }
  /**
   * What the current routes do with events of this gateway. Routes with listeners (`bolt`) also get
   * events that are not accepted as messages.
   */
  listeners: {
    /** Who gets a message: listeners, another target, or nobody (undefined). */
    targetOf(message: NewMessage): 'listeners' | 'other' | undefined
    /** The Bolt apps in routes that can match messages of this gateway: their files, in order. */
    files(): readonly string[]
    /** Whether a route takes clicks with this action. */
    takesAction(action: string): boolean
    /**
     * Calls listeners for an event that is not accepted as a message, once per `key` within seven
     * days. Resolves when the call is stored; false if no route with listeners matches.
     */
    call(message: NewMessage & { key: string }): Promise<boolean>
    /** An accepted message; undefined if no longer retained. */
    messageOf(id: string): Promise<Message | undefined>
  }
}

export type SlackDeps = TransportDeps & SlackHost
