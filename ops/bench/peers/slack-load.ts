import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { type SlackServer, startSlackServer } from '../../../test/fixtures/slack-server.ts'
import { until } from '../../../test/fixtures/until.ts'
import type { Figures } from '../lib/peer.ts'
import { servePeer } from '../lib/serve-peer.ts'
import { createEnvelopes } from '../lib/slack-envelopes.ts'
import { percentile } from '../lib/statistics.ts'

const PATIENCE = 10_000

const floodSchema = z.object({ slack: z.number(), seconds: z.number(), inFlight: z.number() })
const pacedSchema = z.object({ slack: z.number(), seconds: z.number(), rate: z.number() })

/** One for each contender, so that each has a socket of its own. */
const servers: SlackServer[] = []

servePeer({
  /** Starts a Slack and gives its number and port. */
  async open() {
    const server = await startSlackServer()
    servers.push(server)
    return { slack: servers.length - 1, port: Number(new URL(server.apiUrl).port) }
  },

  /** Resolves when somebody has connected to that Slack. */
  async connected(params) {
    const { slack } = z.object({ slack: z.number() }).parse(params)
    await until(() => servers[slack]?.sockets.open() === 1, 'a socket', PATIENCE)
    return {}
  },

  /** Keeps so many events unacknowledged on one socket: each acknowledgement sends the next. */
  async flood(params) {
    const { slack, seconds, inFlight } = floodSchema.parse(params)
    const line = lineOf(slack)
    const deadline = performance.now() + seconds * 1000
    line.onAck = () => {
      if (performance.now() < deadline) line.send()
    }
    const began = performance.now()
    for (let sent = 0; sent < inFlight; sent++) line.send()
    return line.end(began)
  },

  /** Events at a steady rate, whether or not they are acknowledged. */
  async paced(params) {
    const { slack, seconds, rate } = pacedSchema.parse(params)
    const line = lineOf(slack)
    const began = performance.now()
    for (let sent = 0; sent < rate * seconds; await pause(1)) {
      const due = Math.min(rate * seconds, ((performance.now() - began) * rate) / 1000)
      for (; sent < due; sent++) line.send()
    }
    return line.end(began)
  },
})

/** The one socket of a Slack: sends events over it and times their acknowledgements (ms). */
function lineOf(slack: number) {
  const [stream] = servers[slack]?.sockets.streams() ?? []
  if (!stream) throw new Error('nobody is connected')
  const { socket, wire } = stream
  const next = createEnvelopes()
  const sentAt = new Map<string, number>()
  const latencies: number[] = []
  let corked = false
  let lastAck = performance.now()

  const line = {
    onAck() {},
    /** What is sent in one turn leaves in one write, so that this process is not what limits. */
    send() {
      const { id, frame } = next()
      if (!corked) {
        corked = true
        wire.cork()
        process.nextTick(() => {
          corked = false
          wire.uncork()
        })
      }
      sentAt.set(id, performance.now())
      socket.send(frame)
    },
    /** Waits for the last acknowledgements and tells how it went. */
    async end(began: number): Promise<Figures> {
      await until(() => sentAt.size === 0 || performance.now() - lastAck > PATIENCE, 'the last acks', 600_000)
      socket.off('message', acknowledged)
      latencies.sort((a, b) => a - b)
      const done = latencies.length
      const rate = done / ((lastAck - began) / 1000)
      return { done, bad: sentAt.size, rate, p50: percentile(latencies, 50), p99: percentile(latencies, 99) }
    },
  }

  function acknowledged(raw: unknown) {
    const { envelope_id: id } = JSON.parse(String(raw))
    const at = sentAt.get(id)
    if (at === undefined) return
    sentAt.delete(id)
    lastAck = performance.now()
    latencies.push(lastAck - at)
    line.onAck()
  }
  socket.on('message', acknowledged)
  return line
}
