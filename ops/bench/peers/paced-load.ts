import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { httpAnswerLength, isHttpSuccess } from '../lib/github-webhook.ts'
import { servePeer } from '../lib/serve-peer.ts'

const schema = z.object({ port: z.number(), rate: z.number(), seconds: z.number() })
const CONNECTIONS = 64
const BODY_BYTES = 1024
/** How long (ms) to wait for the last responses. */
const FINAL_WAIT = 10_000

servePeer({
  /**
   * Sends webhooks of 1 KB at a steady rate, whether or not the server keeps up. Each contains the
   * time at which it was due, in nanoseconds of the clock that all processes share, so that a delay
   * of this process counts as latency.
   */
  async run(params) {
    const { port, rate, seconds } = schema.parse(params)
    const idle: ((request: string) => void)[] = []
    const queue: string[] = []
    const sockets: Socket[] = []
    let bad = 0
    for (let i = 0; i < CONNECTIONS; i++) {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      await once(socket, 'connect')
      const send = (request: string) => void socket.write(request)
      socket.on('data', (chunk: Buffer) => {
        if (httpAnswerLength(chunk) === 0 || !isHttpSuccess(chunk)) bad++
        const next = queue.shift()
        if (next === undefined) idle.push(send)
        else send(next)
      })
      idle.push(send)
      sockets.push(socket)
    }
    const start = process.hrtime.bigint()
    let made = 0
    while (made < rate * seconds) {
      const dueByNow = Math.min(rate * seconds, (Number(process.hrtime.bigint() - start) / 1e9) * rate)
      for (; made < dueByNow; made++) {
        const request = requestDueAt(dueAt(start, made, rate))
        const send = idle.pop()
        if (send) send(request)
        else queue.push(request)
      }
      await pause(1)
    }
    const deadline = Date.now() + FINAL_WAIT
    while (idle.length < CONNECTIONS && Date.now() < deadline) await pause(5)
    for (const socket of sockets) socket.destroy()
    return { total: made, bad }
  },
})

/** When the request with this number (from 0) is due, in nanoseconds. */
function dueAt(start: bigint, number: number, rate: number): bigint {
  return start + BigInt(Math.round((number / rate) * 1e9))
}

function requestDueAt(due: bigint): string {
  const prefix = `{"sentAt":"${due}","text":"`
  const body = `${prefix}${'x'.repeat(BODY_BYTES - prefix.length - 2)}"}`
  return `POST /hooks/plain HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}
