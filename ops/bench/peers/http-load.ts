import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { closedLoop } from '../lib/closed-loop.ts'
import { createDeliveries, httpAnswerLength, isHttpSuccess } from '../lib/github-webhook.ts'
import { servePeer } from '../lib/serve-peer.ts'

const schema = z.object({
  port: z.number(),
  path: z.string(),
  connections: z.number().default(64),
  seconds: z.number(),
  count: z.number().exactOptional(),
})

servePeer({
  /** Signed 1 KB webhooks over HTTP. */
  run(params) {
    const { path, ...rest } = schema.parse(params)
    const run = randomBytes(8).toString('hex')
    return closedLoop({
      ...rest,
      request: (connection) => createDeliveries(path, `${run}-${connection}`),
      answerLength: httpAnswerLength,
      isGood: isHttpSuccess,
    })
  },
})
