import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Figures } from './peer.ts'
import { percentile } from './statistics.ts'

export type ClosedLoop = {
  port: number
  connections: number
  /** Ends after this time, or after `count` answers. */
  seconds: number
  count?: number
  /** Prepares a fresh connection, for example with a handshake. */
  open?(socket: Socket): Promise<void>
  /** Makes what a connection sends: called for each connection once, the function for each request. */
  request(connection: number): () => Buffer
  /** The length of the whole answer at the start of the bytes, or 0 where it is not complete. */
  answerLength(bytes: Buffer): number
  isGood(bytes: Buffer): boolean
}

/**
 * Sends requests over kept connections, each the next one as soon as its answer is there. Raw sockets and ready
 * bytes: it must cost far less than the server that it measures. Latencies in ms.
 */
export async function closedLoop(options: ClosedLoop): Promise<Figures> {
  const sockets = await Promise.all(Array.from({ length: options.connections }, () => openSocket(options)))
  const latencies: number[] = []
  let bad = 0
  const started = performance.now()
  const deadline = started + options.seconds * 1000
  let left = options.count ?? Number.POSITIVE_INFINITY

  const drive = (socket: Socket, index: number) =>
    new Promise<void>((resolve, reject) => {
      const next = options.request(index)
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
        const length = options.answerLength(bytes)
        held = length === 0 ? bytes : undefined
        if (length === 0) return
        latencies.push(performance.now() - sentAt)
        if (!options.isGood(bytes)) bad++
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

async function openSocket({ port, open }: ClosedLoop): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  await open?.(socket)
  return socket
}
