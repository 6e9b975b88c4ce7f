import type { AskedBy } from '../../core/assistant-services.ts'
import type { Call } from '../../core/call.ts'
import type { Message } from '../../core/message.ts'

/** Words by which a message reaches a skill. `verified`: only from senders of whom there is proof. */
export type Word = {
  name: string
  ref: string
  description: string
  prefixes: readonly string[]
  verified: boolean
}

/** What the assistant needs of the daemon beside its state. */
export type AssistantContext = {
  words(): readonly Word[]
  /** Whether there is such a skill, and who calls could have it answer them: by a word, by a route, by a role; operators all. */
  isFor(skill: string, call: Call): boolean
  /** Throws where the call may not have the skill run. */
  permit(skill: string, call: Call): Promise<void>
  /** Runs a skill for who called, within their call. */
  run(skill: string, args: object, call: Call): Promise<unknown>
  /** Tells who asked; the same key once. `by` says what tells it. */
  report(to: AskedBy, telling: { key: string; text: string; by: string }): Promise<void>
  /** Asks somebody: where their message came from, or by an address. Returns why that is not possible. */
  ask(
    whom: { message: Message } | { gateway: string; to: string },
    text: string,
    key: string,
    call: Call,
  ): Promise<string | undefined>
  message(id: string): Promise<Message | undefined>
  /** Whether the configuration has a gateway of that name, and the kind of its transport. */
  transportOf(gateway: string): string | undefined
  /** Where nobody says another. */
  timezone(): string
  /** Whether there is a model to ask. */
  hasModel(): boolean
}
