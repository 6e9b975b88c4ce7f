import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { WebClient } from '@slack/web-api'
import { TriviumError } from '../../../src/core/errors.ts'
import { slackFailure } from '../../../transports/slack/failure.ts'
import { deliverEvent, replyTo, startWorld } from './harness.ts'

const world = await startWorld()
after(() => world.close())
const { server, transport } = world
const failing = (code: string) => (error: unknown) => error instanceof TriviumError && error.code === code
const limited = { status: 429, headers: { 'retry-after': '600' } }

describe("Slack's rate limits", () => {
  for (const error of ['ratelimited', 'rate_limited']) {
    test(`are over where Slack says ${error}, and the send is tried again`, async () => {
      server.fail('chat.postMessage', { body: { ok: false, error } })
      const web = new WebClient('xoxb-test', { slackApiUrl: server.apiUrl, retryConfig: { retries: 0 } })
      const thrown = await web.chat.postMessage({ channel: 'C0GEN', text: 'x' }).catch(slackFailure)
      assert.ok('kind' in thrown && thrown.kind === 'rate-limited')
    })
  }

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
      await assert.rejects(one(), failing('send_failed'))
      await assert.rejects(two(), failing('send_failed'))
      assert.equal(server.calls.slice(from).filter((call) => call.method === method).length, 1)
    })
  }

  test('of posts are those of a channel: another channel goes on', async () => {
    const one = await deliverEvent(world, { text: 'x', channel: 'C0ONE' })
    const two = await deliverEvent(world, { text: 'x', channel: 'C0TWO' })
    server.fail('chat.postMessage', limited)
    await assert.rejects(transport.send(replyTo(one, 'one')), failing('send_failed'))
    await transport.send(replyTo(two, 'still heard'))
    assert.equal(server.posts.at(-1)?.text, 'still heard')
  })
})
