import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Store } from '../../src/core/store.ts'
import { createReceive } from '../../src/engine/receive.ts'
import { messageOf } from '../runtime/support/message.ts'
import { openStore } from '../runtime/support/store.ts'
import { callOf, newMessage } from './kit.ts'

/** Timeout of waits that end earlier, and duration of leases (ms). */
const LONG = 20_000

/** The receive road with some methods of the store replaced. */
function receiveWith(
  store: Store,
  methods: Partial<Store['receive']> = {},
  known = ['demo', 'other'],
  pulled: Parameters<typeof createReceive>[0]['pulled'] = () => {},
) {
  return createReceive({
    store: { ...store, receive: { ...store.receive, ...methods } },
    onTaken() {},
    pulled,
    removeIfExhausted: async () => false,
    known: () => known,
    now: Date.now,
  })
}

async function stage(t: TestContext) {
  const store = await openStore(t)
  const receive = receiveWith(store)
  const accept = async (text: string, conversation = 'c1', gateway = 'demo') => {
    await store.journal.accept([newMessage({ text, conversation, gateway })])
  }
  const take = async (args: object = {}, call = callOf()) => receive.receive({ timeout: 0, ...args }, call)
  return { store, receive, accept, take }
}

describe('gateway-receive', () => {
  test('takes messages of the conversation of the caller, unless it names a gateway', async (t) => {
    const { accept, take } = await stage(t)
    await accept('theirs', 'c1')
    await accept('mine', 'c2')
    await accept('same conversation, other gateway', 'c2', 'other')
    const call = callOf({ message: messageOf({ gateway: 'demo', conversation: 'c2' }) })
    assert.equal((await take({}, call))?.text, 'mine')
    assert.equal(await take({}, call), null)
    assert.equal((await take({ gateway: 'demo' }, call))?.text, 'theirs')
    assert.equal((await take({ conversation: 'c2' }))?.text, 'same conversation, other gateway')
  })

  test('rejects an unknown gateway with a suggestion, after its last messages were taken', async (t) => {
    const { accept, take } = await stage(t)
    await accept('left behind', 'c1', 'dmo')
    assert.equal((await take({ gateway: 'dmo' }))?.text, 'left behind')
    await assert.rejects(take({ gateway: 'dmo', timeout: LONG }), /There is no .*dmo\. Did you mean demo\?/)
  })

  test('notes who pulls from which gateway, but no names that are not configured', async (t) => {
    const { store } = await stage(t)
    const pulled: unknown[] = []
    const { receive } = receiveWith(store, {}, ['demo'], (gateway) => void pulled.push(gateway))
    await receive({ gateway: 'demo', timeout: 0 }, callOf())
    await receive({ timeout: 0 }, callOf())
    await receive({ conversation: 'c1', timeout: 0 }, callOf())
    await assert.rejects(receive({ gateway: 'x'.repeat(1_000), timeout: 0 }, callOf()))
    assert.deepEqual(pulled, ['demo', undefined])
  })

  test('starts with each gateway of a caller equally often', async (t) => {
    const { store } = await stage(t)
    const firsts = new Map<string, number>()
    let isFirst = true
    const gateways = ['a', 'b', 'c', 'd', 'e']
    const take: Store['receive']['take'] = async (filter, lease) => {
      const name = filter.gateway ?? ''
      if (isFirst) firsts.set(name, (firsts.get(name) ?? 0) + 1)
      isFirst = false
      return store.receive.take(filter, lease)
    }
    const receive = receiveWith(store, { take }, gateways)
    const call = callOf({ caller: { kind: 'http', gateways } })
    for (let n = 0; n < 2_000; n++) {
      isFirst = true
      await receive.receive({ timeout: 0 }, call)
    }
    // 400 expected, with a standard deviation of 18.
    for (const name of gateways) {
      const count = firsts.get(name) ?? 0
      assert.ok(count > 310 && count < 490, `${name} was first ${count} times`)
    }
  })

  test('takes nothing for a caller that disconnected', async (t) => {
    const { accept, take } = await stage(t)
    const caller = new AbortController()
    const waiting = take({ timeout: LONG }, callOf({ signal: caller.signal }))
    await take()
    caller.abort()
    await accept('for another caller')
    assert.equal(await waiting, null)
    assert.equal((await take())?.text, 'for another caller')
  })

  test('releases a message that was leased while the caller disconnected', async (t) => {
    const { store, accept } = await stage(t)
    await accept('a')
    const caller = new AbortController()
    const take: Store['receive']['take'] = async (filter, lease) => {
      const taken = await store.receive.take(filter, lease)
      caller.abort()
      return taken
    }
    const { receive } = receiveWith(store, { take })
    assert.equal(await receive({ timeout: LONG, lease: LONG }, callOf({ signal: caller.signal })), null)
    assert.equal((await store.receive.take({}))?.message.text, 'a')
  })

  test('with a match takes the oldest matching message and leaves the others', async (t) => {
    const { accept, take } = await stage(t)
    for (const text of ['apple 1', 'pear 1', 'apple 2', 'pear 2']) await accept(text)
    const pears = { match: { text: ['pear *'] } }
    assert.equal((await take(pears))?.text, 'pear 1')
    assert.equal((await take({ ...pears, lease: LONG }))?.text, 'pear 2')
    assert.equal(await take(pears), null)
    assert.equal((await take())?.text, 'apple 1')
    assert.equal((await take())?.text, 'apple 2')
  })

  test('with a match takes released messages, and messages that other matches skipped', async (t) => {
    const { accept, take, receive } = await stage(t)
    const [pears, apples] = [{ match: { text: ['pear *'] } }, { match: { text: ['apple *'] } }]
    for (const text of ['apple 1', 'pear 1', 'apple 2']) await accept(text)
    const receipt = async (args: object) => String(Object(await take({ ...args, lease: LONG })).receipt)
    const [pear, apple] = [await receipt(pears), await receipt(apples)]
    assert.equal(await take(pears), null)
    await receive.nack({ receipt: apple, delay: 0 })
    await receive.nack({ receipt: pear, delay: 0 })
    assert.equal((await take(pears))?.text, 'pear 1')
    assert.equal(await take(pears), null)
    assert.equal((await take(apples))?.text, 'apple 1')
    assert.equal((await take(apples))?.text, 'apple 2')
  })

  test('with a match waits for a matching message', async (t) => {
    const { accept, take } = await stage(t)
    const waiting = take({ match: { text: ['pear'] }, timeout: LONG })
    await accept('apple')
    await accept('pear')
    assert.equal((await waiting)?.text, 'pear')
    assert.equal((await take())?.text, 'apple')
  })

  test('with a match reads each message of the backlog once', async (t) => {
    const { store, accept } = await stage(t)
    let messagesRead = 0
    const look: Store['receive']['look'] = async (request) => {
      const page = await store.receive.look(request)
      messagesRead += page.items.length
      return page
    }
    const { receive } = receiveWith(store, { look })
    for (let n = 0; n < 300; n++) await accept(`apple ${n}`, `c${n % 7}`)
    const pears = { match: { text: ['pear *'] }, timeout: 0 }
    for (let n = 0; n < 20; n++) {
      await accept(`pear ${n}`)
      assert.equal((await receive(pears, callOf()))?.text, `pear ${n}`)
      await accept(`apple ${300 + n}`)
    }
    assert.ok(messagesRead < 500, `${messagesRead} messages were read`)
  })
})
