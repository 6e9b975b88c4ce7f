import type { Json, JsonObject } from '../../src/core/json.ts'
import type { Message, NewMessage } from '../../src/core/message.ts'
import type { Route } from '../../src/core/route.ts'
import type { TransportDeps } from '../../src/core/transport.ts'

/** What gateways of Slack need of the daemon: skills that answer while a person waits, and what Bolt apps need. */
export type SlackHost = {
  /** Invokes a skill for a person who waits, such as the options of a select: nothing is kept. Throws after `timeout` ms. */
  ask(skill: string, args: JsonObject, asking: { from: Message['from']; timeout: number }): Promise<Json>
  /** The routes in force, and which of them takes a message. */
  router: { match(message: Message): Route | undefined; routes(): readonly Route[] }
  /** Code of users outside of the skills folders. */
  modules: {
    /** Calls `changed` after code in the folder of the file was saved. Resolves with what ends that. */
    watch(file: string, changed: () => Promise<void>): Promise<() => Promise<void>>
  }
  /** For routes with listeners (`bolt`), which hear more than what is a message on the roads. */
  listeners: {
    /** Has them called for what is on no road. Resolves when that is durable; one `key` counts once in seven days. */
    call(route: Route, message: NewMessage & { key: string }): Promise<void>
    /** A message that was accepted; undefined where it is no longer retained. */
    accepted(id: string): Promise<Message | undefined>
  }
}

export type SlackDeps = TransportDeps & SlackHost
