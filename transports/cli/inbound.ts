import type { NewMessage } from '../../src/core/message.ts'

/** What a program or a person says: `conversation` continues one, `key` makes a repetition harmless. */
export type CliInput = { text: string; user?: string; conversation?: string; key?: string }

/**
 * Builds the message of `trivium message <gateway> <text>` and of the control API, for their caller to
 * accept. There is no listener. `user` is the name of the person at the terminal (default `cli`).
 */
export function cliMessage(gateway: string, input: CliInput): NewMessage {
  const user = input.user || 'cli'
  return {
    gateway,
    transport: 'cli',
    from: { id: user, name: user },
    text: input.text,
    data: {},
    ...(input.conversation ? { conversation: input.conversation } : {}),
    ...(input.key ? { key: input.key } : {}),
  }
}
