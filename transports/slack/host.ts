import type { Json, JsonObject } from '../../src/core/json.ts'
import type { Message, NewMessage } from '../../src/core/message.ts'
import type { Route } from '../../src/core/route.ts'
import type { TransportDeps } from '../../src/core/transport.ts'

/** Dependencies of Slack gateways on the daemon: interactive skills, and the needs of Bolt apps. */
export type SlackHost = {
  /**
   * Invokes a skill for a waiting person, such as for the options of a select; nothing is stored.
   * Throws after `timeout` ms.
   */
  ask(skill: string, args: JsonObject, asker: { from: Message['from']; timeout: number }): Promise<Json>
  /** The current routes, and the one that matches a message. */
  router: { match(message: Message): Route | undefined; routes(): readonly Route[] }
  /** User code outside the skills folders. */
  modules: {
    /**
     * Calls `changed` after changes of code in the file's folder. Resolves with a function that stops
     * watching.
     */
    watch(file: string, changed: () => Promise<void>): Promise<() => Promise<void>>
  }
  /** For routes with listeners (`bolt`), which also get events that are not accepted as messages. */
  listeners: {
    /**
     * Calls listeners for an event that is not accepted as a message, once per `key` within seven
     * days. Resolves when the call is stored.
     */
    call(route: Route, message: NewMessage & { key: string }): Promise<void>
    /** An accepted message; undefined if no longer retained. */
    messageOf(id: string): Promise<Message | undefined>
  }
}

export type SlackDeps = TransportDeps & SlackHost
