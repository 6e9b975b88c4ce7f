import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { createReceive } from '../../src/engine/receive.ts'
import { messageOf } from '../runtime/support/message.ts'
import { openStore } from '../runtime/support/store.ts'
import { callOf, newMessage } from './kit.ts'

const LONG = 20_000

async function stage(t: TestContext) {
  const store = await openStore(t)
  const counted: string[] = []
  const receive = createReceive({
    store,
    taken: (gateway) => counted.push(gateway),
    refuses: async () => false,
    known: () => ['demo', 'other'],
    now: Date.now,
  })
  const accept = async (text: string, conversation = 'c1', gateway = 'demo') => {
    await store.journal.accept([newMessage({ text, conversation, gateway })])
  }
  const take = async (args: object = {}, call = callOf()) => receive.receive({ timeout: 0, ...args }, call)
  return { store, receive, counted, accept, take }
}

describe('gateway-receive', () => {
  test('inside a conversation takes the messages of that conversation, unless it names another', async (t) => {
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

  test('from a gateway that is not there is an error that names the nearest, once its last messages are taken', async (t) => {
    const { accept, take } = await stage(t)
    await accept('left behind', 'c1', 'dmo')
    assert.equal((await take({ gateway: 'dmo' }))?.text, 'left behind')
    await assert.rejects(take({ gateway: 'dmo', timeout: LONG }), /There is no .*dmo\. Did you mean demo\?/)
  })

  test('serves each gateway of a caller first equally often', async (t) => {
    const { store } = await stage(t)
    const firsts = new Map<string, number>()
    let isFirst = true
    const receive = createReceive({
      taken() {},
      refuses: async () => false,
      known: () => gateways,
      now: Date.now,
      store: {
        ...store,
        receive: {
          ...store.receive,
          async take(filter, lease) {
            const name = filter.gateway ?? ''
            if (isFirst) firsts.set(name, (firsts.get(name) ?? 0) + 1)
            isFirst = false
            return store.receive.take(filter, lease)
          },
        },
      },
    })
    const gateways = ['a', 'b', 'c', 'd', 'e']
    const call = callOf({ caller: { kind: 'http', gateways } })
    for (let i = 0; i < 2_000; i++) {
      isFirst = true
      await receive.receive({ timeout: 0 }, call)
    }
    // 400 expected; more than five standard deviations away is not chance.
    for (const name of gateways) {
      const count = firsts.get(name) ?? 0
      assert.ok(count > 310 && count < 490, `${name} was first ${count} times`)
    }
  })

  test('takes nothing for a caller that went away while it waited', async (t) => {
    const { accept, take } = await stage(t)
    const caller = new AbortController()
    const waiting = take({ timeout: LONG }, callOf({ signal: caller.signal }))
    await take()
    caller.abort()
    await accept('for somebody else')
    assert.equal(await waiting, null)
    assert.equal((await take())?.text, 'for somebody else')
  })

  test('gives a message back that was leased for a caller that went away meanwhile', async (t) => {
    const { store, accept } = await stage(t)
    await accept('a')
    const caller = new AbortController()
    const receive = createReceive({
      taken() {},
      refuses: async () => false,
      known: () => [],
      now: Date.now,
      store: {
        ...store,
        receive: {
          ...store.receive,
          async take(filter, lease) {
            const taken = await store.receive.take(filter, lease)
            caller.abort()
            return taken
          },
        },
      },
    })
    const gone = await receive.receive({ timeout: LONG, lease: LONG }, callOf({ signal: caller.signal }))
    assert.equal(gone, null)
    assert.equal((await store.receive.take({}))?.message.text, 'a')
  })

  test('with a match takes the oldest message that fits and leaves the others', async (t) => {
    const { accept, take } = await stage(t)
    for (const text of ['apple 1', 'pear 1', 'apple 2', 'pear 2']) await accept(text)
    const pears = { match: { text: ['pear *'] } }
    assert.equal((await take(pears))?.text, 'pear 1')
    assert.equal((await take({ ...pears, lease: LONG }))?.text, 'pear 2')
    assert.equal(await take(pears), null)
    assert.equal((await take())?.text, 'apple 1')
    assert.equal((await take())?.text, 'apple 2')
  })

  test('with a match sees again what came back, and what others pass over', async (t) => {
    const { accept, take, receive } = await stage(t)
    const [pears, apples] = [{ match: { text: ['pear *'] } }, { match: { text: ['apple *'] } }]
    for (const text of ['apple 1', 'pear 1', 'apple 2']) await accept(text)
    const receipt = async (args: object) => String(Object(await take({ ...args, lease: LONG })).receipt)
    const [first, apple] = [await receipt(pears), await receipt(apples)]
    assert.equal(await take(pears), null)
    await receive.nack({ receipt: apple, delay: 0 })
    await receive.nack({ receipt: first, delay: 0 })
    assert.equal((await take(pears))?.text, 'pear 1')
    assert.equal(await take(pears), null)
    assert.equal((await take(apples))?.text, 'apple 1')
    assert.equal((await take(apples))?.text, 'apple 2')
  })

  test('with a match waits for a message that fits', async (t) => {
    const { accept, take } = await stage(t)
    const waiting = take({ match: { text: ['pear'] }, timeout: LONG })
    await accept('apple')
    await accept('pear')
    assert.equal((await waiting)?.text, 'pear')
    assert.equal((await take())?.text, 'apple')
  })

  test('with a match that few messages fit looks at each message of the backlog once', async (t) => {
    const { store, accept } = await stage(t)
    const looked: string[] = []
    const known = {
      ...store.receive,
      async look(request: Parameters<typeof store.receive.look>[0]) {
        const found = await store.receive.look(request)
        looked.push(...found.items.map(({ message }) => message.text))
        return found
      },
    }
    const receive = createReceive({
      taken() {},
      refuses: async () => false,
      known: () => ['demo'],
      now: Date.now,
      store: { ...store, receive: known },
    })
    for (let n = 0; n < 300; n++) await accept(`apple ${n}`, `c${n % 7}`)
    const pears = { match: { text: ['pear *'] }, timeout: 0 }
    for (let n = 0; n < 20; n++) {
      await accept(`pear ${n}`)
      assert.equal((await receive.receive(pears, callOf()))?.text, `pear ${n}`)
      await accept(`apple ${300 + n}`)
    }
    assert.ok(looked.length < 500, `${looked.length} messages were read`)
  })
})
