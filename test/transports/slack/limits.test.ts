import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { SendPostponed } from '../../../src/core/transport.ts'
import { deliverEvent, replyTo, startWorld } from './harness.ts'

const world = await startWorld()
after(() => world.close())
const { server, transport } = world
/** The send is no attempt, and comes again in about so many seconds. */
const postponed = (seconds: number) => (error: unknown) =>
  error instanceof SendPostponed && Math.abs(error.delay / 1000 - seconds) < 2
const limited = { status: 429, headers: { 'retry-after': '600' } }

describe("Slack's rate limits", () => {
  test('are over where Slack says so in its answer, and the send is put off', async () => {
    for (const error of ['ratelimited', 'rate_limited']) {
      const message = await deliverEvent(world, { text: 'x', channel: `C0${error.length}` })
      server.fail('chat.postMessage', { body: { ok: false, error } })
      await assert.rejects(transport.send(replyTo(message, 'x')), postponed(30))
    }
  })

  for (const [method, dataOf] of [
    ['chat.update', (key: string) => ({ update: key })],
    ['chat.postEphemeral', () => ({ ephemeral: 'U1ANN' })],
  ] as const) {
    test(`of ${method} are those of all channels: another channel does not ask while it is over`, async () => {
      const sendIn = async (channel: string) => {
        const message = await deliverEvent(world, { text: 'x', channel })
        const key = `${method}/${channel}`
        await transport.send(replyTo(message, 'first', { key }))
        return () => transport.send(replyTo(message, 'x', { key: `${key}/later`, data: dataOf(key) }))
      }
      const [one, two] = [await sendIn('C0ONE'), await sendIn('C0TWO')]
      server.fail(method, limited)
      const from = server.calls.length
      await assert.rejects(one(), postponed(600))
      await assert.rejects(two(), postponed(600))
      assert.equal(server.calls.slice(from).filter((call) => call.method === method).length, 1)
    })
  }
})
