import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { Redis } from 'ioredis'
import { SECRET } from '../lib/github-webhook.ts'
import { listening, redisOptions, servePeer } from '../lib/serve-peer.ts'

// The least that durable storage on Redis needs: bare node:http, a checked signature and one XADD;
// no deduplication, no roads.
const redis = new Redis(redisOptions())

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', async () => {
    const body = Buffer.concat(chunks)
    const expected = `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`
    const signature = String(request.headers['x-hub-signature-256'])
    if (
      signature.length !== expected.length ||
      !timingSafeEqual(Buffer.from(signature), Buffer.from(expected))
    ) {
      response.writeHead(401).end()
      return
    }
    const id = await redis.xadd('hooks', '*', 'body', body)
    const answer = JSON.stringify({ id })
    response.writeHead(202, ['Content-Type', 'application/json', 'Content-Length', String(answer.length)])
    response.end(answer)
  })
})

servePeer({ listen: () => listening(server) }, () => redis.disconnect())
