import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMemoryBackend } from '../../../src/runtime/state/backends.ts'
import { createAcks } from '../../../transports/slack/bolt/acks.ts'
import { serveHttp } from '../../fixtures/http-server.ts'
import { messageOf } from '../../runtime/support/message.ts'

test('a late ack does not follow a redirect of its response URL', async (t) => {
  const paths: string[] = []
  const { url, close } = await serveHttp((request, response) => {
    paths.push(String(request.url))
    response.writeHead(307, { location: '/elsewhere' }).end()
  })
  t.after(close)
  const kv = createMemoryBackend(Date.now, new Map())
  const acks = createAcks({ gateway: 'team', kv })
  const payload = { command: '/slow', response_url: `${url}/respond` }
  const message = messageOf({ data: { payload } })
  // Slack already got an empty response.
  await kv.set(`slack/team/ack/${message.id}`, {})
  await assert.rejects(acks.acknowledge(message, 'at last'))
  assert.deepEqual(paths, ['/respond'])
})

test('a late ack keeps the fields that a newer version has stored', async () => {
  const kv = createMemoryBackend(Date.now, new Map())
  const acks = createAcks({ gateway: 'team', kv })
  const message = messageOf({ data: { payload: { command: '/slow' } } })
  await kv.set(`slack/team/ack/${message.id}`, { at: 5 })
  await acks.acknowledge(message, 'at last')
  const { value } = (await kv.get(`slack/team/ack/${message.id}`)) ?? {}
  assert.deepEqual(value, { at: 5, response: { text: 'at last' } })
})
