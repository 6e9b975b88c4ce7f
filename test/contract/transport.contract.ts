import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import { isJsonObject } from '../../src/core/json.ts'
import type { Reply, Transport, TransportKind } from '../../src/core/transport.ts'
import type { Hosts } from '../../transports/registry.ts'
import fc from '../fixtures/fast-check.ts'
import { startTransportFixture, type TransportFixture } from '../fixtures/transport-deps.ts'
import { until } from '../fixtures/until.ts'

/** What the suite needs to know of a transport. A new transport brings one of these and gets all cases. */
export type TransportDescriptor<Options> = {
  kind: TransportKind<Options, Hosts>
  options: Options
  /**
   * Sends one message in, as its upstream does, and resolves with how upstream was answered. `key` is the
   * upstream's stable id. Absent where the transport has no listener of its own.
   */
  deliver?(fixture: TransportFixture, text: string, key: string): Promise<Delivery>
  /** Opens a conversation as a peer would, so that replies to it can be seen. */
  converse(fixture: TransportFixture, transport: Transport): Promise<Peer>
  /** Frees what the two functions above opened; called after every case. */
  hangUp?(): Promise<void> | void
}

/** `refused`: upstream was told to try again, or not answered; it will deliver again. */
export type Delivery = { outcome: 'acknowledged'; id?: string; duplicate?: boolean } | { outcome: 'refused' }

export type Peer = {
  conversation: string
  /** The message that replies answer, where the transport looks at that. */
  inReplyTo?: string
  /** The texts that have reached this peer so far, in order. */
  received(): Promise<string[]> | string[]
}

/** Runs the contract of `Transport` (src/core/transport.ts) against one kind. */
export function transportContract<Options>(descriptor: TransportDescriptor<Options>): void {
  const { kind, options } = descriptor

  describe(`the contract of transports: ${kind.kind}`, () => {
    const open: (() => Promise<void>)[] = []

    async function start(existing?: TransportFixture) {
      const fixture = existing ?? (await startTransportFixture({ gateway: 'under-test' }))
      const transport = await kind.create(options, fixture.deps)
      await transport.start()
      open.push(async () => {
        await transport.stop()
        await transport.close()
        if (!existing) await fixture.close()
      })
      return { fixture, transport, store: fixture.store }
    }

    afterEach(async () => {
      await descriptor.hangUp?.()
      for (const close of open.splice(0).reverse()) await close()
    })

    test('is healthy once started, and its checks say what they found', async () => {
      const { transport } = await start()
      assert.equal(transport.health().ok, true)
      for (const check of await transport.check()) {
        assert.ok(check.name && check.detail, JSON.stringify(check))
      }
    })

    describe('replies', () => {
      const replyTo = (peer: Peer, text: string, key = text): Reply => ({
        key,
        gateway: 'under-test',
        conversation: peer.conversation,
        text,
        ...(peer.inReplyTo === undefined ? {} : { inReplyTo: peer.inReplyTo }),
      })
      const receives = (peer: Peer, texts: string[]) =>
        until(async () => (await peer.received()).length >= texts.length, `${texts.length} replies`).then(
          async () => assert.deepEqual(await peer.received(), texts),
        )

      test('go to the conversation they belong to and to no other, in order', async () => {
        const { fixture, transport } = await start()
        const one = await descriptor.converse(fixture, transport)
        const two = await descriptor.converse(fixture, transport)
        for (const text of ['1', '2', '3']) {
          const receipt = await transport.send(replyTo(one, text))
          assert.ok(receipt.id)
        }
        await transport.send(replyTo(two, 'other'))
        await receives(one, ['1', '2', '3'])
        await receives(two, ['other'])
      })

      test('with the same key are seen once, also when another daemon sends them again', async () => {
        const { fixture, transport } = await start()
        const peer = await descriptor.converse(fixture, transport)
        const second = await startTransportFixture({ gateway: 'under-test', store: fixture.store })
        const other = await kind.create(options, second.deps)
        open.push(() => second.close())
        await transport.send(replyTo(peer, 'once'))
        await transport.send(replyTo(peer, 'once'))
        await other.send(replyTo(peer, 'once'))
        await transport.send(replyTo(peer, 'last'))
        await receives(peer, ['once', 'last'])
      })

      test('are still sent after stop', async () => {
        const { fixture, transport } = await start()
        const peer = await descriptor.converse(fixture, transport)
        await transport.stop()
        await transport.send(replyTo(peer, 'late'))
        await receives(peer, ['late'])
      })
    })

    const { deliver } = descriptor
    if (!deliver) return

    describe('messages', () => {
      test('are acknowledged with the id under which the roads see them', async () => {
        const { fixture, store } = await start()
        const delivery = await deliver(fixture, 'hello', 'k1')
        const [message] = store.messages
        assert.ok(message && delivery.outcome === 'acknowledged')
        if (delivery.id !== undefined) assert.equal(delivery.id, message.id)
        assert.deepEqual([message.gateway, message.transport], ['under-test', kind.kind])
        assert.equal(message.text, 'hello')
        assert.ok(message.from.id && message.key)
        const data = kind.eventData(message)
        assert.ok(isJsonObject(data) && data.from)
        assert.deepEqual(JSON.parse(JSON.stringify(data)), data)
      })

      test('are not acknowledged before they are durable', async () => {
        const { fixture, store } = await start()
        const release = store.hold()
        let answered = false
        const pending = deliver(fixture, 'hello', 'k1').then((delivery) => {
          answered = true
          return delivery
        })
        await until(() => store.calls > 0, 'the call of accept')
        for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
        assert.equal(answered, false)
        release()
        assert.equal((await pending).outcome, 'acknowledged')
      })

      const failures = {
        'the store is away': new TriviumError('store_unavailable', { store: 'x', reason: 'y' }),
        'the backlog is too long': new TriviumError('overloaded', { what: 'x', limit: 1, seconds: 1 }),
        'accept fails for a reason nobody foresaw': new Error('oops'),
      }
      for (const [name, failure] of Object.entries(failures)) {
        test(`are refused while ${name}, and taken once when they come again`, async () => {
          const { fixture, store } = await start()
          store.fail(failure)
          assert.equal((await deliver(fixture, 'hello', 'k1')).outcome, 'refused')
          store.recover()
          const again = await deliver(fixture, 'hello', 'k1')
          assert.equal(again.outcome, 'acknowledged')
          assert.equal(store.messages.length, 1)
        })
      }

      test('that come again get the first id, also when all come at once', async () => {
        const { fixture, store } = await start()
        const deliveries = await Promise.all(
          Array.from({ length: 10 }, () => deliver(fixture, 'hello', 'k1')),
        )
        deliveries.push(await deliver(fixture, 'hello', 'k1'))
        assert.equal(store.messages.length, 1)
        for (const delivery of deliveries) {
          assert.equal(delivery.outcome, 'acknowledged')
          if (delivery.outcome === 'acknowledged' && delivery.id)
            assert.equal(delivery.id, store.messages[0]?.id)
        }
      })

      test('arrive with exactly the text that was sent', async () => {
        const { fixture, store } = await start()
        let count = 0
        await fc.assert(
          fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 }), async (text) => {
            count++
            await deliver(fixture, text, `k${count}`)
            assert.equal(store.messages.at(-1)?.text, text)
          }),
          { numRuns: 50 },
        )
      })

      test('are not accepted any more after stop, and are not acknowledged either', async () => {
        const { fixture, transport, store } = await start()
        await transport.stop()
        assert.equal((await deliver(fixture, 'hello', 'k1')).outcome, 'refused')
        assert.equal(store.calls, 0)
      })

      test('do not show in the log, above debug, with what they say', async () => {
        const { fixture, store } = await start()
        await deliver(fixture, 'top secret words', 'k1')
        store.fail()
        await deliver(fixture, 'top secret words', 'k2')
        const lines = fixture.logs.filter((line) => line.level !== 'debug')
        assert.doesNotMatch(JSON.stringify(lines), /top secret words/)
      })

      test('come in again after close and a new start on the same listener', async () => {
        const { fixture, transport } = await start()
        await transport.stop()
        await transport.close()
        const { store } = await start(fixture)
        assert.equal((await deliver(fixture, 'hello', 'k1')).outcome, 'acknowledged')
        assert.equal(store.messages.length, 1)
      })
    })
  })
}
