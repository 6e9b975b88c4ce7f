import { createServer } from 'node:http'
import { Pool } from 'undici'
import { z } from 'zod'
import { listening, servePeer } from '../lib/serve-peer.ts'

// Two programs of the benchmark: a receiver that measures the rate, and a bare sender of the same
// bytes, with which Trivium is compared.
const schema = z.object({ count: z.number() })
const sendSchema = schema.extend({
  port: z.number(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
})
const CONCURRENCY = 64
let onRequest = () => {}

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    response.writeHead(204).end()
    onRequest()
  })
})

servePeer({
  listen: () => listening(server),
  /** Resolves with the rate after `count` requests; the first tenth warms up and does not count. */
  receive(params) {
    const { count } = schema.parse(params)
    const warmUp = Math.floor(count / 10)
    const { promise, resolve } = Promise.withResolvers<{ rate: number }>()
    let requests = 0
    let start = 0
    onRequest = () => {
      requests++
      if (requests === warmUp) start = performance.now()
      if (requests === count) resolve({ rate: (count - warmUp) / ((performance.now() - start) / 1000) })
    }
    return promise
  },
  async send(params) {
    const { count, port, headers, body } = sendSchema.parse(params)
    const pool = new Pool(`http://127.0.0.1:${port}`, { connections: CONCURRENCY })
    let sent = 0
    const sendInTurn = async () => {
      while (sent++ < count) {
        const { body: answer } = await pool.request({ path: '/', method: 'POST', headers, body })
        await answer.dump()
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, sendInTurn))
    await pool.close()
    return {}
  },
})
