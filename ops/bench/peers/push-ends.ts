import { createServer } from 'node:http'
import { Pool } from 'undici'
import { z } from 'zod'
import { listening, servePeer } from '../lib/serve-peer.ts'

// Both ends of a push: a receiver that counts, and the yardstick, which POSTs the same bytes and does nothing else.
const schema = z.object({ count: z.number() })
const parcelSchema = schema.extend({
  port: z.number(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
})
const PLACES = 64
let arrived = () => {}

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    response.writeHead(204).end()
    arrived()
  })
})

servePeer({
  listen: () => listening(server),
  /** Resolves with the rate once so many have come; the first tenth warms up and does not count. */
  receive(params) {
    const { count } = schema.parse(params)
    const first = Math.floor(count / 10)
    const { promise, resolve } = Promise.withResolvers<{ rate: number }>()
    let [seen, began] = [0, 0]
    arrived = () => {
      seen++
      if (seen === first) began = performance.now()
      if (seen === count) resolve({ rate: (count - first) / ((performance.now() - began) / 1000) })
    }
    return promise
  },
  async send(params) {
    const { count, port, headers, body } = parcelSchema.parse(params)
    const pool = new Pool(`http://127.0.0.1:${port}`, { connections: PLACES })
    let sent = 0
    const work = async () => {
      while (sent++ < count) {
        const { body: answer } = await pool.request({ path: '/', method: 'POST', headers, body })
        await answer.dump()
      }
    }
    await Promise.all(Array.from({ length: PLACES }, work))
    await pool.close()
    return {}
  },
})
