import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { Queue } from 'bullmq'
import express from 'express'
import { SECRET } from '../lib/github-webhook.ts'
import { listening, redisOptions, servePeer } from '../lib/serve-peer.ts'

// What one would write without Trivium: Express, a checked signature, and one BullMQ job per
// delivery id.
const queue = new Queue('hooks', { connection: redisOptions() })
const app = express()
app.disable('x-powered-by')
app.disable('etag')
app.post('/hooks/github', express.raw({ type: '*/*' }), async (request, response) => {
  const expected = `sha256=${createHmac('sha256', SECRET).update(request.body).digest('hex')}`
  const signature = request.get('x-hub-signature-256') ?? ''
  if (
    signature.length !== expected.length ||
    !timingSafeEqual(Buffer.from(signature), Buffer.from(expected))
  ) {
    response.status(401).end()
    return
  }
  const jobId = request.get('x-github-delivery') ?? ''
  await queue.add(request.get('x-github-event') ?? '', JSON.parse(request.body.toString()), { jobId })
  response.status(202).json({ id: jobId })
})

servePeer({ listen: () => listening(createServer(app)) }, () => queue.close())
