import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { z } from 'zod'
import { createDeliveries, httpAnswerLength, isHttpSuccess } from '../lib/github-webhook.ts'
import type { Figures } from '../lib/peer.ts'
import { servePeer } from '../lib/serve-peer.ts'
import { percentile } from '../lib/statistics.ts'

const schema = z.object({
  port: z.number(),
  path: z.string(),
  /** Ends after this time, or after `count` answers. */
  seconds: z.number(),
  count: z.number().default(Number.POSITIVE_INFINITY),
})
const CONNECTIONS = 64

servePeer({ run })

/**
 * Signed 1 KB webhooks over kept connections, each the next one as soon as its answer is there. Raw sockets and
 * ready bytes: it must cost far less than the server that it measures. Latencies in ms.
 */
async function run(params: unknown): Promise<Figures> {
  const { port, path, seconds, count } = schema.parse(params)
  const prefix = randomBytes(8).toString('hex')
  const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => openSocket(port)))
  const latencies: number[] = []
  let bad = 0
  let left = count
  const started = performance.now()
  const deadline = started + seconds * 1000

  const drive = (socket: Socket, index: number) =>
    new Promise<void>((resolve, reject) => {
      const next = createDeliveries(path, `${prefix}-${index}`)
      let sentAt = 0
      let held: Buffer | undefined
      const send = () => {
        sentAt = performance.now()
        if (left <= 0 || sentAt >= deadline) return resolve()
        left--
        socket.write(next())
      }
      socket.on('data', (chunk: Buffer) => {
        const bytes = held ? Buffer.concat([held, chunk]) : chunk
        const isWhole = httpAnswerLength(bytes) > 0
        held = isWhole ? undefined : bytes
        if (!isWhole) return
        latencies.push(performance.now() - sentAt)
        if (!isHttpSuccess(bytes)) bad++
        send()
      })
      socket.on('error', reject)
      socket.on('close', () => reject(new Error('the server hung up')))
      send()
    })

  await Promise.all(sockets.map(drive))
  const took = (performance.now() - started) / 1000
  for (const socket of sockets) socket.removeAllListeners('close').destroy()
  latencies.sort((a, b) => a - b)
  const done = latencies.length
  return { done, bad, rate: done / took, p50: percentile(latencies, 50), p99: percentile(latencies, 99) }
}

async function openSocket(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  return socket
}
