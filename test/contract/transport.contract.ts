import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import { isJsonObject } from '../../src/core/json.ts'
import type { Reply, Transport, TransportKind } from '../../src/core/transport.ts'
import type { Hosts } from '../../transports/registry.ts'
import fc from '../fixtures/fast-check.ts'
import { startTransportFixture, type TransportFixture } from '../fixtures/transport-deps.ts'
import { until } from '../fixtures/until.ts'

/** What the suite needs to know about a transport. */
export type TransportDescriptor<Options> = {
  kind: TransportKind<Options, Hosts>
  options: Options
  /**
   * Delivers one message as the provider does, and resolves with the answer to the provider. `key`
   * is the provider's stable id. Absent if the transport has no listener.
   */
  deliver?(fixture: TransportFixture, text: string, key: string): Promise<Delivery>
  /** Opens a conversation as a peer does, and collects the replies to it. */
  converse(fixture: TransportFixture, transport: Transport): Promise<Peer>
  /** Closes what the two functions above opened; called after every case. */
  hangUp?(): Promise<void> | void
}

/** `refused`: the provider got an error or no answer, and will deliver again. */
export type Delivery = { outcome: 'acknowledged'; id?: string; duplicate?: boolean } | { outcome: 'refused' }

export type Peer = {
  conversation: string
  /** The message that replies refer to, if the transport needs it. */
  inReplyTo?: string
  /** The texts that this peer has received so far, in order. */
  received(): Promise<string[]> | string[]
}

/** Runs the contract of `Transport` (src/core/transport.ts) against one kind. */
export function transportContract<Options>(descriptor: TransportDescriptor<Options>): void {
  const { kind, options } = descriptor

  describe(`transport ${kind.kind}`, () => {
    const closers: (() => Promise<void>)[] = []

    async function start(existing?: TransportFixture) {
      const fixture = existing ?? (await startTransportFixture({ gateway: 'under-test' }))
      const transport = await kind.create(options, fixture.deps)
      await transport.start()
      closers.push(async () => {
        await transport.stop()
        await transport.close()
        if (!existing) await fixture.close()
      })
      return { fixture, transport, store: fixture.store }
    }

    afterEach(async () => {
      await descriptor.hangUp?.()
      for (const close of closers.splice(0).reverse()) await close()
    })

    test('is healthy once started, and its checks have a name and a result', async () => {
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
      const assertReceived = async (peer: Peer, texts: string[]) => {
        await until(async () => (await peer.received()).length >= texts.length, `${texts.length} replies`)
        assert.deepEqual(await peer.received(), texts)
      }

      test('reach only their conversation, in order', async () => {
        const { fixture, transport } = await start()
        const first = await descriptor.converse(fixture, transport)
        const second = await descriptor.converse(fixture, transport)
        for (const text of ['1', '2', '3']) {
          const receipt = await transport.send(replyTo(first, text))
          assert.ok(receipt.id)
        }
        await transport.send(replyTo(second, 'other'))
        await assertReceived(first, ['1', '2', '3'])
        await assertReceived(second, ['other'])
      })

      test('with the same key are sent once, also if another daemon repeats them', async () => {
        const { fixture, transport } = await start()
        const peer = await descriptor.converse(fixture, transport)
        const otherDaemon = await startTransportFixture({ gateway: 'under-test', store: fixture.store })
        const otherTransport = await kind.create(options, otherDaemon.deps)
        closers.push(() => otherDaemon.close())
        await transport.send(replyTo(peer, 'once'))
        await transport.send(replyTo(peer, 'once'))
        await otherTransport.send(replyTo(peer, 'once'))
        await transport.send(replyTo(peer, 'last'))
        await assertReceived(peer, ['once', 'last'])
      })

      test('are still sent after stop', async () => {
        const { fixture, transport } = await start()
        const peer = await descriptor.converse(fixture, transport)
        await transport.stop()
        await transport.send(replyTo(peer, 'late'))
        await assertReceived(peer, ['late'])
      })
    })

    const { deliver } = descriptor
    if (!deliver) return

    describe('messages', () => {
      test('are acknowledged with their id', async () => {
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
        let isAnswered = false
        const delivery = deliver(fixture, 'hello', 'k1').finally(() => {
          isAnswered = true
        })
        await until(() => store.acceptCalls > 0, 'the call of accept')
        for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
        assert.equal(isAnswered, false)
        release()
        assert.equal((await delivery).outcome, 'acknowledged')
      })

      const failures = {
        'the store is unreachable': new TriviumError('store_unavailable', { store: 'x', reason: 'y' }),
        'the backlog is too long': new TriviumError('overloaded', { what: 'x', limit: 1, seconds: 1 }),
        'accept fails with an unexpected error': new Error('oops'),
      }
      for (const [name, failure] of Object.entries(failures)) {
        test(`are refused while ${name}, and accepted once when delivered again`, async () => {
          const { fixture, store } = await start()
          store.fail(failure)
          assert.equal((await deliver(fixture, 'hello', 'k1')).outcome, 'refused')
          store.recover()
          assert.equal((await deliver(fixture, 'hello', 'k1')).outcome, 'acknowledged')
          assert.equal(store.messages.length, 1)
        })
      }

      test('that are delivered again get the id of the first, also concurrently', async () => {
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
        let serial = 0
        await fc.assert(
          fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 }), async (text) => {
            serial++
            await deliver(fixture, text, `k${serial}`)
            assert.equal(store.messages.at(-1)?.text, text)
          }),
          { numRuns: 50 },
        )
      })

      test('are refused after stop', async () => {
        const { fixture, transport, store } = await start()
        await transport.stop()
        assert.equal((await deliver(fixture, 'hello', 'k1')).outcome, 'refused')
        assert.equal(store.acceptCalls, 0)
      })

      test('do not appear with their text in the log, except at level debug', async () => {
        const { fixture, store } = await start()
        await deliver(fixture, 'top secret words', 'k1')
        store.fail()
        await deliver(fixture, 'top secret words', 'k2')
        const lines = fixture.logs.filter((line) => line.level !== 'debug')
        assert.doesNotMatch(JSON.stringify(lines), /top secret words/)
      })

      test('are accepted again after close and a new start on the same listener', async () => {
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
