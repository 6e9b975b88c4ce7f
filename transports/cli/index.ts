import { z } from 'zod'
import { TriviumError } from '../../src/core/errors.ts'
import type { TransportKind } from '../../src/core/transport.ts'

/**
 * The cli transport: messages of the command line and of programs on the control API. It listens nowhere; a reply is
 * kept in the log of its conversation, where the command that waits for it reads it, on any daemon.
 */
export const cli: TransportKind<object> = {
  kind: 'cli',
  options: z.strictObject({}),
  create: async (_options, { gateway, replies }) => ({
    async start() {},
    async send(reply) {
      if (reply.to === undefined) return replies.append(reply.conversation, reply)
      const reason = 'replies go to the conversation at the terminal; there is no other target'
      throw new TriviumError('send_rejected', { gateway, reason })
    },
    async stop() {},
    async close() {},
    health: () => ({ ok: true }),
    check: async () => [],
  }),
  eventData: (message) => ({ from: message.from.id, body: message.text }),
}
