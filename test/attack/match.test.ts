import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { suiteWithDaemon } from '../fixtures/suite.ts'

const ROUTES = `
gateways:
  own: { transport: webhook, path: /own, verify: { scheme: none }, text: data.body.text }
  other: { transport: webhook, path: /other, verify: { scheme: none }, text: data.body.text }
tokens:
  - { name: worker, token: a-worker-of-one-gateway, skills: [gateway-receive], gateways: [own] }
`
const BOMB = '/^(a+)+$/'

describe('a program that receives with a match', { timeout: 300_000 }, () => {
  const suite = suiteWithDaemon({ routes: ROUTES })
  const receive = async (args: object) => {
    const response = await fetch(`${suite.daemon.control}/v1/skills/gateway-receive`, {
      method: 'POST',
      headers: {
        authorization: 'Bearer a-worker-of-one-gateway',
        'content-type': 'application/json',
        // A reused connection may be one that the daemon, in this process, is just closing as idle.
        connection: 'close',
      },
      body: JSON.stringify({ timeout: 0, ...args }),
    })
    return Object(await response.json())
  }

  test('cannot reach messages of another gateway', async () => {
    await suite.daemon.post('/other', '{"text":"secret"}')
    await suite.daemon.post('/own', '{"text":"public"}')
    assert.equal((await receive({ match: { text: 'secret' } })).result, null)
    assert.equal((await receive({ match: { gateway: 'other' } })).result, null)
    assert.equal((await receive({ gateway: 'other', match: {} })).error.code, 'forbidden')
    assert.equal((await receive({ match: { gateway: ['other', 'own'] } })).result.text, 'public')
  })

  test('cannot block the daemon by an exponential pattern or thousands of filters', async () => {
    for (let n = 0; n < 20; n++)
      await suite.daemon.post('/own', JSON.stringify({ text: `${'a'.repeat(20_000)}!` }))
    assert.equal((await receive({ match: { text: BOMB } })).result, null)
    const BATCH = 40
    for (let n = 0; n < 1_200; n += BATCH) {
      const batch = Array.from({ length: BATCH }, (_, index) =>
        receive({ match: { from: `nobody ${n + index}` } }),
      )
      for (const answer of await Promise.all(batch)) assert.equal(answer.result, null)
    }
    assert.ok((await receive({ match: { text: 'a*!' } })).result)
  })

  test('gets an error for an invalid match', async () => {
    for (const match of [{ text: '/(/' }, { txt: 'x' }, { data: 'x' }, 'text', [], { text: { $gt: '' } }]) {
      const { error } = await receive({ match })
      assert.equal(error?.code, 'skill_args_invalid', JSON.stringify(match))
    }
  })
})
