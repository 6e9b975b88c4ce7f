import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { z } from 'zod'
import { startSlackServer } from '../../../test/fixtures/slack-server.ts'
import { until } from '../../../test/fixtures/until.ts'
import { servePeer } from '../lib/serve-peer.ts'
import { signedHeaders, slackEvent } from '../lib/slack-events.ts'
import { percentile } from '../lib/statistics.ts'

// A test Slack that sends events over the open socket, or by HTTP to a port. Each contender has its
// own.
const schema = z.object({ port: z.number(), seconds: z.number().default(0), rate: z.number().default(0) })
const CONCURRENCY = 64
const slack = await startSlackServer()
let pool: Pool | undefined

async function post(body: string): Promise<boolean> {
  const headers = signedHeaders(body)
  const answer = await pool?.request({ path: '/slack/events', method: 'POST', headers, body })
  await answer?.body.dump()
  return answer?.statusCode === 200
}

servePeer({
  api: () => ({ port: Number(new URL(slack.apiUrl).port) }),
  /** Resolves once the app can receive events. */
  async connected(params) {
    const { port } = schema.parse(params)
    if (port) pool = new Pool(`http://127.0.0.1:${port}`, { connections: CONCURRENCY })
    const challenge = JSON.stringify({ type: 'url_verification', challenge: 'x' })
    await until(
      async () => (port ? await post(challenge) : slack.sockets.open() > 0),
      'an app that receives events',
      30_000,
    )
    return {}
  },
  /**
   * Sends `rate` events a second; without a rate as many as are acknowledged, 64 at a time.
   * Latencies in ms, counted from the time at which an event was due.
   */
  async run(params) {
    const { port, seconds, rate } = schema.parse(params)
    const latencies: number[] = []
    const start = performance.now()
    const deadline = start + seconds * 1000
    let bad = 0
    const send = async (due = performance.now()) => {
      const event = slackEvent()
      const isAcknowledged = port
        ? await post(JSON.stringify(event))
        : (await slack.sockets.deliver('events_api', event)).acked
      if (!isAcknowledged) bad++
      latencies.push(performance.now() - due)
    }
    const sendInTurn = async () => {
      while (performance.now() < deadline) await send()
    }
    const sending = rate ? [] : Array.from({ length: CONCURRENCY }, sendInTurn)
    for (let n = 0; rate && n < rate * seconds; await pause(1)) {
      for (; n < rate * seconds && start + (n * 1000) / rate <= performance.now(); n++)
        sending.push(send(start + (n * 1000) / rate))
    }
    await Promise.all(sending)
    const duration = (performance.now() - start) / 1000
    latencies.sort((a, b) => a - b)
    const total = latencies.length
    return { total, bad, rate: total / duration, p99: percentile(latencies, 99) }
  },
})
