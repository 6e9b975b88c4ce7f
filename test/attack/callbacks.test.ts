import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { openSite } from '../fixtures/daemon.ts'

const tokenOf = (name: string) => name.padEnd(32, '-secret')
const BOUNDED = tokenOf('bounded')
const NEIGHBOUR = tokenOf('neighbour')
const NARROW = tokenOf('narrow')
const SECRET = 'zanzibar'
const responseSchema = z.object({ result: z.record(z.string(), z.any()) })
const ROUTES = `
gateways:
  orders: { transport: cli }
  private: { transport: cli }
routes:
  - { name: all, skill: asks }
tokens:
  - { name: bounded, token: ${BOUNDED}, skills: ["*"], gateways: [orders] }
  - { name: neighbour, token: ${NEIGHBOUR}, skills: ["*"], gateways: [private] }
  - { name: narrow, token: ${NARROW}, skills: [echo], gateways: ["*"] }
`
const SKILLS = {
  asks: `export default { description: 'asks', run: async ({ manager }) => ({ text: (await manager.invoke('callback-create', {})).ref }) }`,
}

describe('a program with a token', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: SKILLS })
  const daemon = await site.start()
  const post = async (token: string, path: string, body: object) => {
    const response = await fetch(daemon.control + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify(body),
    })
    return { status: response.status, text: await response.text() }
  }
  const invoke = (token: string, skill: string, args: object) => post(token, `/v1/skills/${skill}`, args)
  /** The result of a skill that returns an object. */
  const resultOf = ({ text }: { text: string }) => responseSchema.parse(JSON.parse(text)).result
  /** The ref of a callback that a skill creates for a message of a gateway. */
  const callbackOn = async (gateway: string): Promise<string> => {
    const sent = { gateway, conversation: 'c', from: 'ada', text: 'go', wait: 5_000 }
    return resultOf(await post(daemon.token, '/v1/messages', sent)).replies[0].text
  }

  test('cannot read, answer or release callbacks of others', async () => {
    const ofOperator: string = Object(await daemon.invoke('callback-create', {})).ref
    for (const ref of [
      ofOperator,
      await callbackOn('private'),
      resultOf(await invoke(NEIGHBOUR, 'callback-create', {})).ref,
    ]) {
      const call = invoke(daemon.token, ref, { text: SECRET })
      const attempts = [
        await invoke(BOUNDED, 'callback-wait', { ref, timeout: 300 }),
        await invoke(BOUNDED, 'callback-release', { ref }),
      ]
      const { id } = Object(await daemon.invoke('callback-wait', { ref, timeout: 30_000 }))
      attempts.push(await invoke(BOUNDED, 'callback-respond', { ref, id, result: 'mine' }))
      assert.deepEqual(
        attempts.map(({ status, text }) => (status === 200 ? resultOf({ text }).ok : status)),
        [404, false, 404],
      )
      assert.ok(!JSON.stringify(attempts).includes(SECRET))
      assert.deepEqual(await daemon.invoke('callback-respond', { ref, id, result: 'theirs' }), { ok: true })
      assert.equal(JSON.parse((await call).text).result, 'theirs')
    }
  })

  test('can answer its own callbacks and those of its gateways', async () => {
    const own: string = resultOf(await invoke(BOUNDED, 'callback-create', {})).ref
    for (const ref of [own, await callbackOn('orders')]) {
      const call = invoke(daemon.token, ref, { text: 'hello' })
      const { id, args } = resultOf(await invoke(BOUNDED, 'callback-wait', { ref, timeout: 30_000 }))
      assert.deepEqual(args, { text: 'hello' })
      assert.equal(resultOf(await invoke(BOUNDED, 'callback-respond', { ref, id, result: 'done' })).ok, true)
      assert.equal(JSON.parse((await call).text).result, 'done')
      assert.equal(resultOf(await invoke(BOUNDED, 'callback-release', { ref })).ok, true)
    }
  })

  test('cannot distinguish a released callback of others from one that never existed', async () => {
    const ref: string = resultOf(await invoke(NEIGHBOUR, 'callback-create', {})).ref
    assert.equal(resultOf(await invoke(NEIGHBOUR, 'callback-release', { ref })).ok, true)
    const attempts = [
      await invoke(BOUNDED, 'callback-wait', { ref, timeout: 0 }),
      await invoke(BOUNDED, 'callback-respond', { ref, id: 'x' }),
    ]
    for (const { status, text } of attempts) {
      assert.equal(status, 404)
      assert.doesNotMatch(text, /released/)
    }
    assert.equal((await invoke(NEIGHBOUR, 'callback-wait', { ref, timeout: 0 })).status, 410)
  })

  test('cannot guess refs, and cannot call callbacks if its token does not allow the skills for them', async () => {
    const ref: string = Object(await daemon.invoke('callback-create', {})).ref
    for (let guess = 0; guess < 50; guess++) {
      const name = `callback-${randomBytes(4).toString('hex')}`
      assert.equal((await invoke(BOUNDED, name, {})).status, 404)
      assert.equal((await invoke(BOUNDED, 'callback-wait', { ref: name, timeout: 0 })).status, 404)
    }
    assert.equal((await invoke(NARROW, ref, {})).status, 403)
    assert.equal((await invoke(NARROW, 'callback-wait', { ref, timeout: 0 })).status, 403)
  })
})
