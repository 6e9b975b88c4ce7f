import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { z } from 'zod'
import { startSlackServer } from '../../../test/fixtures/slack-server.ts'
import { until } from '../../../test/fixtures/until.ts'
import { servePeer } from '../lib/serve-peer.ts'
import { signedBySlack, slackEvent } from '../lib/slack-events.ts'
import { percentile } from '../lib/statistics.ts'

// A Slack that sends events: over the socket of who has one, or to a port. One contender each.
const schema = z.object({ port: z.number(), seconds: z.number().default(0), rate: z.number().default(0) })
const AT_ONCE = 64
const slack = await startSlackServer()
let pool: Pool | undefined

async function post(body: string): Promise<boolean> {
  const headers = signedBySlack(body)
  const answer = await pool?.request({ path: '/slack/events', method: 'POST', headers, body })
  await answer?.body.dump()
  return answer?.statusCode === 200
}

servePeer({
  api: () => ({ port: Number(new URL(slack.apiUrl).port) }),
  /** Resolves once events can come in. */
  async connected(params) {
    const { port } = schema.parse(params)
    if (port) pool = new Pool(`http://127.0.0.1:${port}`, { connections: AT_ONCE })
    const challenge = JSON.stringify({ type: 'url_verification', challenge: 'x' })
    await until(async () => (port ? await post(challenge) : slack.sockets.open() > 0), 'an open ear', 30_000)
    return {}
  },
  /** So many events a second, or else as many as are acknowledged, 64 at once. Latencies in ms, from when one was due. */
  async run(params) {
    const { port, seconds, rate } = schema.parse(params)
    const latencies: number[] = []
    const began = performance.now()
    const deadline = began + seconds * 1000
    let bad = 0
    const send = async (due = performance.now()) => {
      const event = slackEvent()
      const isTaken = port
        ? await post(JSON.stringify(event))
        : (await slack.sockets.deliver('events_api', event)).acked
      if (!isTaken) bad++
      latencies.push(performance.now() - due)
    }
    const work = async () => {
      while (performance.now() < deadline) await send()
    }
    const sending = rate ? [] : Array.from({ length: AT_ONCE }, work)
    for (let n = 0; rate && n < rate * seconds; await pause(1)) {
      for (; n < rate * seconds && began + (n * 1000) / rate <= performance.now(); n++)
        sending.push(send(began + (n * 1000) / rate))
    }
    await Promise.all(sending)
    const took = (performance.now() - began) / 1000
    latencies.sort((a, b) => a - b)
    const done = latencies.length
    return { done, bad, rate: done / took, p99: percentile(latencies, 99) }
  },
})
