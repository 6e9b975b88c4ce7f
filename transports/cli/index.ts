import { z } from 'zod'
import { TriviumError } from '../../src/core/errors.ts'
import type { TransportKind } from '../../src/core/transport.ts'

/**
 * The cli transport: messages from the command line and from programs. A reply goes to the log of
 * its conversation, which every daemon can read.
 */
export const cli: TransportKind<object> = {
  kind: 'cli',
  options: z.strictObject({}),
  create: async (_options, { gateway, replies }) => ({
    async start() {},
    requireTarget: async () => refuseTarget(gateway),
    async send(reply) {
      if (reply.to !== undefined) refuseTarget(gateway)
      return replies.append(reply.conversation, reply)
    },
    async stop() {},
    async close() {},
    health: () => ({ ok: true }),
    check: async () => [],
  }),
  eventData: (message) => ({ from: message.from.id, body: message.text }),
}

function refuseTarget(gateway: string): never {
  const reason = 'replies go to the conversation at the terminal; there is no other target'
  throw new TriviumError('send_rejected', { gateway, reason })
}
