import type { TransportKind } from '../../src/core/transport.ts'
import { type CliOptions, cliOptions } from './config.ts'
import { sendToConversation } from './outbound.ts'

/** The cli transport: messages of the command line and of programs on the control API. It listens nowhere. */
export const cli: TransportKind<CliOptions> = {
  kind: 'cli',
  options: cliOptions,
  create: (_options, deps) => ({
    async start() {},
    send: (reply) => sendToConversation(deps, reply),
    async stop() {},
    async close() {},
    health: () => ({ ok: true }),
    check: async () => [],
  }),
  eventData: (message) => ({ from: message.from.id, body: message.text }),
}
