import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { until } from '../../fixtures/until.ts'
import { startWebsocket } from './harness.ts'

describe('a WebSocket gateway accepts', () => {
  test('with tokens, only clients with one in the header, the subprotocol or the query', async () => {
    const { connect, refusal, store, logs } = await startWebsocket({
      tokens: { alice: ['ta', 'ta2'], bob: 'tb' },
    })
    const clients = {
      header: await connect('', { headers: { authorization: 'Bearer ta' } }),
      rotated: await connect('', { headers: { authorization: 'Bearer ta2' } }),
      address: await connect('?token=ta'),
      // `wss://any:ta@host`, as Node and Python send it.
      password: await connect('', { headers: { authorization: `Basic ${btoa('any:ta')}` } }),
      protocol: await connect('', {}, ['bearer.ta']),
      protocols: await connect('', {}, ['trivium', 'bearer.ta']),
    }
    assert.equal(clients.protocols.socket.protocol, 'trivium')
    for (const client of Object.values(clients)) {
      client.say({ type: 'message', text: 'hi' })
      await client.next('ack')
    }
    assert.deepEqual(new Set(store.messages.map((message) => message.from.id)), new Set(['alice']))
    for (const query of ['', '?token=', '?token=t', '?token=taa', '?token=alice', '?token=__proto__']) {
      const answer = await refusal(query)
      assert.equal(answer.status, 401, query)
      assert.match(answer.text, /"code":"signature_invalid"/)
    }
    for (const credentials of ['ta:', 'alice:tb2', 'ta', ':', 'x:ta:']) {
      const headers = { authorization: `Basic ${btoa(credentials)}` }
      assert.equal((await refusal('', { headers })).status, 401, credentials)
    }
    assert.doesNotMatch(JSON.stringify(logs), /\bta2?\b/)
  })

  test('each token of a list as its own subject, whatever its position', async () => {
    const subjects = []
    for (const tokens of [
      ['one', 'two'],
      ['two', 'one'],
    ]) {
      const { connect, store } = await startWebsocket({ tokens })
      const client = await connect('?token=one')
      client.say({ type: 'message', text: 'hi' })
      await client.next('ack')
      subjects.push(store.messages[0]?.from.id)
    }
    assert.equal(subjects[0], subjects[1])
    assert.doesNotMatch(subjects[0] ?? 'one', /one/)
  })

  test('web pages of the same host and of the option `origins`, and no others', async () => {
    const { connect, refusal, http, url } = await startWebsocket({ origins: ['https://app.example.com'] })
    await connect('', { origin: url })
    await connect('', { origin: 'https://app.example.com' })
    for (const origin of [
      'https://evil.example',
      'null',
      'https://app.example.com.evil',
      'http://127.0.0.1',
    ]) {
      assert.equal((await refusal('', { origin })).status, 403, origin)
    }
    assert.ok(http.connections())
    const spelled = await startWebsocket({ origins: ['https://App.example.com/'] })
    await spelled.connect('', { origin: 'https://app.example.com' })
    const open = await startWebsocket({ origins: ['*'] })
    await open.connect('', { origin: 'https://evil.example' })
  })

  test('without tokens, no page whose host name was pointed at this machine', async () => {
    const { connect, refusal, http, wsUrl } = await startWebsocket()
    const { port } = new URL(wsUrl)
    const headers = { host: `evil.example:${port}` }
    assert.equal((await refusal('', { origin: `http://evil.example:${port}`, headers })).status, 403)
    await connect('', { origin: `http://127.0.0.1:${port}` })
    assert.ok(http.connections())
    const listed = await startWebsocket({ origins: ['https://evil.example'] })
    await listed.connect('', { origin: 'https://evil.example', headers })
  })

  test('at most `max-connections` connections at a time', async () => {
    const { connect, refusal, transport } = await startWebsocket({ 'max-connections': 2 })
    const [first] = [await connect(), await connect()]
    const answer = await refusal()
    assert.equal(answer.status, 503)
    assert.ok(answer.headers['retry-after'])
    first.socket.close()
    await first.closed
    await until(() => transport.health().detail === 'connections: 1', 'the end of the connection')
    await connect()
  })
})
