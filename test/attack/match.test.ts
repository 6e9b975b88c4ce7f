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

describe('a program that chooses by a match', { timeout: 300_000 }, () => {
  const suite = suiteWithDaemon({ routes: ROUTES })
  const receive = async (args: object) => {
    const response = await fetch(`${suite.daemon.control}/v1/skills/gateway-receive`, {
      method: 'POST',
      headers: { authorization: 'Bearer a-worker-of-one-gateway', 'content-type': 'application/json' },
      body: JSON.stringify({ timeout: 0, ...args }),
    })
    return Object(await response.json())
  }

  test('reaches no message of another gateway', async () => {
    await suite.daemon.post('/other', '{"text":"secret"}')
    await suite.daemon.post('/own', '{"text":"public"}')
    assert.equal((await receive({ match: { text: 'secret' } })).result, null)
    assert.equal((await receive({ match: { gateway: 'other' } })).result, null)
    assert.equal((await receive({ gateway: 'other', match: {} })).error.code, 'forbidden')
    assert.equal((await receive({ match: { gateway: ['other', 'own'] } })).result.text, 'public')
  })

  test('stops nobody with a pattern that explodes, nor with thousands of filters', async () => {
    for (let n = 0; n < 20; n++)
      await suite.daemon.post('/own', JSON.stringify({ text: `${'a'.repeat(20_000)}!` }))
    assert.equal((await receive({ match: { text: BOMB } })).result, null)
    for (let n = 0; n < 1_200; n += 40) {
      const some = Array.from({ length: 40 }, (_, at) => receive({ match: { from: `nobody ${n + at}` } }))
      for (const answer of await Promise.all(some)) assert.equal(answer.result, null)
    }
    assert.ok((await receive({ match: { text: 'a*!' } })).result)
  })

  test('is told what it cannot ask for', async () => {
    for (const match of [{ text: '/(/' }, { txt: 'x' }, { data: 'x' }, 'text', [], { text: { $gt: '' } }]) {
      const { error } = await receive({ match })
      assert.equal(error?.code, 'skill_args_invalid', JSON.stringify(match))
    }
  })
})
