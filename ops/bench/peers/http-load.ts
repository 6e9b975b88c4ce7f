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
  /** Maximum duration (s) and number of requests. */
  seconds: z.number(),
  count: z.number().default(Number.POSITIVE_INFINITY),
})
const CONNECTIONS = 64

servePeer({ run })

/**
 * Sends signed 1 KB webhooks over 64 connections, on each the next one as soon as the last is
 * answered. Uses raw sockets and prepared bytes, because it must cost far less than the server that
 * it measures. Latencies in ms.
 */
async function run(params: unknown): Promise<Figures> {
  const { port, path, seconds, count } = schema.parse(params)
  const prefix = randomBytes(8).toString('hex')
  const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => openSocket(port)))
  const latencies: number[] = []
  let bad = 0
  let remaining = count
  const start = performance.now()
  const deadline = start + seconds * 1000

  const sendInTurn = (socket: Socket, index: number) =>
    new Promise<void>((resolve, reject) => {
      const nextDelivery = createDeliveries(path, `${prefix}-${index}`)
      let sentAt = 0
      let incomplete: Buffer | undefined
      const send = () => {
        sentAt = performance.now()
        if (remaining <= 0 || sentAt >= deadline) return resolve()
        remaining--
        socket.write(nextDelivery())
      }
      socket.on('data', (chunk: Buffer) => {
        const bytes = incomplete ? Buffer.concat([incomplete, chunk]) : chunk
        const isComplete = httpAnswerLength(bytes) > 0
        incomplete = isComplete ? undefined : bytes
        if (!isComplete) return
        latencies.push(performance.now() - sentAt)
        if (!isHttpSuccess(bytes)) bad++
        send()
      })
      socket.on('error', reject)
      socket.on('close', () => reject(new Error('the server closed the connection')))
      send()
    })

  await Promise.all(sockets.map(sendInTurn))
  const duration = (performance.now() - start) / 1000
  for (const socket of sockets) socket.removeAllListeners('close').destroy()
  latencies.sort((a, b) => a - b)
  const total = latencies.length
  return {
    total,
    bad,
    rate: total / duration,
    p50: percentile(latencies, 50),
    p99: percentile(latencies, 99),
  }
}

async function openSocket(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  return socket
}
