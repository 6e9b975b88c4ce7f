import type { AskedBy } from '../../core/asked-by.ts'
import type { Call } from '../../core/call.ts'
import type { Message } from '../../core/message.ts'

/** A skill that messages invoke by their first words (`prefixes`). */
export type Word = {
  name: string
  /** The skill that it runs. */
  ref: string
  description: string
  prefixes: readonly string[]
  /** Whether it is only for verified senders. */
  verified: boolean
}

/** Dependencies of the assistant, besides its state. */
export type AssistantContext = {
  words(): readonly Word[]
  /**
   * Whether a skill exists and the caller may use it by a word, a route or a role. Operators may
   * use all.
   */
  mayUse(skill: string, call: Call): boolean
  /** Throws if the call may not run the skill. */
  requireAccess(skill: string, call: Call): Promise<void>
  /** Runs a skill on behalf of the caller, within their call. */
  run(skill: string, args: object, call: Call): Promise<unknown>
  /** Sends a result to its requester, once per key. `by`: the part that reports it. */
  report(to: AskedBy, result: { key: string; text: string; by: string }): Promise<void>
  /**
   * Sends a question to a person, in their conversation or to an address. If that is impossible,
   * resolves with the reason.
   */
  ask(
    recipient: { message: Message } | { gateway: string; to: string },
    text: string,
    key: string,
    call: Call,
  ): Promise<string | undefined>
  message(id: string): Promise<Message | undefined>
  /** The transport kind of a configured gateway; undefined if there is none. */
  transportOf(gateway: string): string | undefined
  /** The default time zone. */
  timezone(): string
  /** Whether a model is configured. */
  hasModel(): boolean
}
