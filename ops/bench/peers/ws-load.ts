import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { closedLoop } from '../lib/closed-loop.ts'
import { servePeer } from '../lib/serve-peer.ts'
import { createFrames, frameLength, isGoodFrame, openWebSocket } from '../lib/websocket-frames.ts'

const schema = z.object({
  port: z.number(),
  greeting: z.boolean(),
  connections: z.number().default(64),
  seconds: z.number(),
})

servePeer({
  /** Messages of 1 KB over WebSocket, each after the ack of the one before. */
  run(params) {
    const { greeting, ...rest } = schema.parse(params)
    const run = randomBytes(6).toString('hex')
    return closedLoop({
      ...rest,
      open: (socket) => openWebSocket(socket, '/ws', greeting),
      request: (connection) => createFrames(`${run}-${connection}`),
      answerLength: frameLength,
      isGood: isGoodFrame,
    })
  },
})
