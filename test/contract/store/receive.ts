import assert from 'node:assert/strict'
import type { ReceiveFilter } from '../../../src/core/store.ts'
import { acceptAll, MINUTE, part, SECOND, type StoreFactory, saying } from './kit.ts'

/** Take, lease, ack and release. */
export function receiveContract(factory: StoreFactory): void {
  part(factory, 'receive', {
    'a take without lease has no receipt and is noted in the history': async ({ store, now }) => {
      const [id = ''] = await acceptAll(store, ['a'])
      const taken = await store.receive.take({})
      assert.equal(taken?.receipt, undefined)
      const [note, ...more] = await store.journal.history(id)
      assert.partialDeepStrictEqual(note, { at: now(), road: 'receive', what: 'taken' })
      assert.deepEqual(more, [])
    },
    'a take filters by gateway, by conversation and by both': async ({ store }) => {
      await store.journal.accept([
        saying('a1', { gateway: 'a', conversation: 'x' }),
        saying('b1', { gateway: 'b', conversation: 'x' }),
        saying('b2', { gateway: 'b', conversation: 'y' }),
        saying('a2', { gateway: 'a', conversation: 'y' }),
        saying('a3', { gateway: 'a' }),
      ])
      const take = async (filter: ReceiveFilter) => (await store.receive.take(filter))?.message.text
      assert.equal(await take({ gateway: 'b', conversation: 'y' }), 'b2')
      assert.equal(await take({ gateway: 'b', conversation: 'y' }), undefined)
      assert.equal(await take({ conversation: 'x' }), 'a1')
      assert.equal(await take({ gateway: 'a' }), 'a2')
      assert.equal(await take({ gateway: 'a' }), 'a3')
      assert.equal(await take({ gateway: 'none' }), undefined)
      assert.equal(await take({ conversation: 'none' }), undefined)
      assert.equal(await take({}), 'b1')
      assert.equal(await take({}), undefined)
    },
    'the id of a message without a conversation is its conversation, also for its replies': async ({
      store,
    }) => {
      await acceptAll(store, ['before'])
      const [id = ''] = await acceptAll(store, ['alone'])
      await acceptAll(store, ['reply'], { conversation: id })
      assert.equal((await store.receive.take({ conversation: id, gateway: 'none' }))?.message.text, undefined)
      assert.equal((await store.receive.take({ conversation: id }))?.message.text, 'alone')
      assert.equal((await store.receive.take({ conversation: id }))?.message.text, 'reply')
      assert.equal(await store.receive.take({ conversation: id }), undefined)
    },
    'the backlog of a gateway has the number of its messages that can be taken, and the oldest': async ({
      store,
      advance,
      now,
    }) => {
      assert.deepEqual(await store.receive.backlog('a'), { messages: 0, more: false })
      const began = now()
      await store.journal.accept([saying('a1', { gateway: 'a', conversation: 'x' })])
      advance(MINUTE)
      await store.journal.accept([
        saying('a2', { gateway: 'a', conversation: 'y' }),
        saying('a3', { gateway: 'a' }),
        saying('b1', { gateway: 'b' }),
      ])
      const backlog = async () => {
        const { messages, oldestAt = 0 } = await store.receive.backlog('a')
        return [messages, oldestAt - began]
      }
      assert.deepEqual(await backlog(), [3, 0])
      // Out of order, by its conversation.
      await store.receive.take({ gateway: 'a', conversation: 'y' })
      assert.deepEqual(await backlog(), [2, 0])
      const leased = await store.receive.take({ gateway: 'a' }, MINUTE)
      assert.deepEqual(await backlog(), [1, MINUTE])
      await store.receive.release(leased?.receipt ?? '')
      assert.deepEqual(await backlog(), [2, 0])
      await store.receive.take({ gateway: 'a' })
      await store.receive.take({ gateway: 'a' })
      assert.deepEqual(await store.receive.backlog('a'), { messages: 0, more: false })
      assert.equal((await store.receive.backlog('b')).messages, 1)
    },
    'a lease hides a message until it expires; then it is the oldest again': async ({ store, advance }) => {
      await acceptAll(store, ['a', 'b'])
      assert.equal((await store.receive.take({}, MINUTE))?.message.text, 'a')
      advance(MINUTE - 1)
      assert.equal((await store.receive.take({}, MINUTE))?.message.text, 'b')
      assert.equal(await store.receive.take({}), undefined)
      advance(1)
      assert.equal((await store.receive.take({}))?.message.text, 'a')
    },
    'a nack returns a message after the delay, and ends the receipt': async ({ store, advance }) => {
      const [id = ''] = await acceptAll(store, ['a'])
      const { receipt = '' } = (await store.receive.take({}, MINUTE)) ?? {}
      assert.equal(await store.receive.release(receipt, 10 * MINUTE), true)
      assert.equal(await store.receive.ack(receipt), false)
      assert.equal(await store.receive.release(receipt), false)
      advance(2 * MINUTE)
      assert.equal(await store.receive.take({}), undefined)
      advance(8 * MINUTE)
      const second = await store.receive.take({}, MINUTE)
      assert.equal(second?.message.text, 'a')
      assert.equal(await store.receive.release(second?.receipt ?? ''), true)
      assert.equal((await store.receive.take({}))?.message.id, id)
      const notes = (await store.journal.history(id)).map(({ what }) => what)
      assert.deepEqual(notes, ['leased', 'released', 'leased', 'released', 'taken'])
    },
    '`extend` leases a message from now, unless the lease has expired': async ({ store, advance }) => {
      await acceptAll(store, ['a'])
      const { receipt = '' } = (await store.receive.take({}, MINUTE)) ?? {}
      for (let minutes = 0; minutes < 5; minutes++) {
        advance(MINUTE - 1)
        assert.equal(await store.receive.extend(receipt, MINUTE), true)
      }
      assert.equal(await store.receive.take({}), undefined)
      advance(MINUTE)
      assert.equal(await store.receive.extend(receipt, MINUTE), false)
      assert.equal((await store.receive.take({}))?.message.text, 'a')
      assert.equal(await store.receive.extend(receipt, MINUTE), false)
    },
    'a very long lease does not affect other takes': async ({ store, advance, now }) => {
      await acceptAll(store, ['a', 'b'])
      assert.equal((await store.receive.take({}, Number.MAX_SAFE_INTEGER))?.message.text, 'a')
      assert.ok(((await store.receive.nextExpiry()) ?? 0) > now())
      advance(MINUTE)
      assert.equal((await store.receive.take({}, MINUTE))?.message.text, 'b')
      assert.equal(await store.receive.take({}), undefined)
    },
    'a message with an expired lease is found by every kind of filter': async ({ store, advance }) => {
      for (const filter of [
        {},
        { gateway: 'g' },
        { conversation: 'c' },
        { gateway: 'g', conversation: 'c' },
      ]) {
        await acceptAll(store, ['a'], { gateway: 'g', conversation: 'c' })
        assert.equal((await store.receive.take(filter, SECOND))?.message.text, 'a')
        advance(SECOND)
        assert.equal((await store.receive.take(filter))?.message.text, 'a')
        assert.equal(await store.receive.take(filter), undefined)
      }
      const [alone = ''] = await acceptAll(store, ['alone'])
      assert.ok(await store.receive.take({ conversation: alone }, SECOND))
      assert.equal(await store.receive.take({ conversation: alone }), undefined)
      advance(SECOND)
      assert.ok(await store.receive.take({ conversation: alone }))
    },
    'a message that is restored twice, or was never taken, is delivered once': async ({ store }) => {
      for (const conversation of ['x', undefined]) {
        const ids = await acceptAll(store, ['a', 'b'], conversation === undefined ? {} : { conversation })
        const [a = '', b = ''] = ids
        assert.equal((await store.receive.take({}))?.message.id, a)
        for (const id of [a, a, b]) assert.equal(await store.receive.restore(id), true)
        assert.equal((await store.stats()).receive.ready, 2)
        for (const id of ids)
          assert.equal((await store.receive.take({ conversation: conversation ?? id }))?.message.id, id)
        for (const id of ids)
          assert.equal(await store.receive.take({ conversation: conversation ?? id }), undefined)
        const [c] = await acceptAll(store, ['c'], conversation === undefined ? {} : { conversation })
        assert.equal((await store.receive.take({ conversation: conversation ?? c ?? '' }))?.message.id, c)
        assert.equal(await store.receive.take({}), undefined)
        assert.equal((await store.stats()).receive.ready, 0)
      }
    },
    'refuses an acknowledgement after the lease has expired': async ({ store, advance }) => {
      await acceptAll(store, ['a'])
      const expired = await store.receive.take({}, SECOND)
      advance(SECOND)
      assert.equal(await store.receive.ack(expired?.receipt ?? ''), false)
      const next = await store.receive.take({}, MINUTE)
      assert.equal(next?.message.text, 'a')
      assert.notEqual(next?.receipt, expired?.receipt)
      assert.equal(await store.receive.ack(expired?.receipt ?? ''), false, 'another consumer has it')
      assert.equal(await store.receive.release(expired?.receipt ?? ''), false)
      assert.equal(await store.receive.ack(next?.receipt ?? ''), true)
    },
    'releasing a message signals consumers, and the next one takes it immediately': async ({ store }) => {
      await acceptAll(store, ['a', 'b'])
      const taken = await store.receive.take({}, MINUTE)
      const signal = new Promise<void>((resolve) => store.onSignal('receive', () => resolve()))
      assert.equal(await store.receive.release(taken?.receipt ?? ''), true)
      await signal
      assert.equal(await store.receive.release(taken?.receipt ?? ''), false)
      assert.equal(await store.receive.ack(taken?.receipt ?? ''), false)
      assert.equal((await store.receive.take({}))?.message.text, 'a')
    },
    '`leased` returns the message of a receipt until the lease ends': async ({ store, advance }) => {
      const [id] = await acceptAll(store, ['a'])
      const first = await store.receive.take({}, SECOND)
      assert.equal((await store.receive.leased(first?.receipt ?? ''))?.id, id)
      advance(SECOND)
      assert.equal(await store.receive.leased(first?.receipt ?? ''), undefined)
      const second = await store.receive.take({}, MINUTE)
      assert.deepEqual(await store.receive.leased(second?.receipt ?? ''), second?.message)
      await store.receive.ack(second?.receipt ?? '')
      assert.equal(await store.receive.leased(second?.receipt ?? ''), undefined)
    },
    'refuses invalid receipts': async ({ store }) => {
      for (const receipt of ['', 'nonsense', '1', '__proto__', '1:2:3']) {
        assert.equal(await store.receive.ack(receipt), false)
        assert.equal(await store.receive.release(receipt), false)
        assert.equal(await store.receive.leased(receipt), undefined)
      }
    },
    'leases and their receipts survive a restart': async (bench) => {
      await acceptAll(bench.store, ['a', 'b'])
      const first = await bench.store.receive.take({}, MINUTE)
      const second = await bench.store.receive.take({}, 2 * MINUTE)
      const store = await bench.reopen()
      assert.equal(await store.receive.take({}), undefined)
      assert.equal(await store.receive.ack(second?.receipt ?? ''), true)
      bench.advance(MINUTE)
      assert.equal((await store.receive.take({}))?.message.id, first?.message.id)
    },
    'nextExpiry is the time at which the next lease ends': async ({ store, now }) => {
      assert.equal(await store.receive.nextExpiry(), undefined)
      await acceptAll(store, ['a', 'b'])
      assert.equal(await store.receive.nextExpiry(), undefined)
      await store.receive.take({}, MINUTE)
      const sooner = await store.receive.take({}, SECOND)
      assert.equal(await store.receive.nextExpiry(), now() + SECOND)
      await store.receive.ack(sooner?.receipt ?? '')
      assert.equal(await store.receive.nextExpiry(), now() + MINUTE)
    },
    'stats count ready and leased messages': async ({ store, now }) => {
      await acceptAll(store, ['a', 'b', 'c'])
      await store.receive.take({})
      await store.receive.take({}, MINUTE)
      assert.partialDeepStrictEqual(await store.stats(), {
        receive: { ready: 1, leased: 1, oldestAt: now() },
        journal: { messages: 3, oldestAt: now() },
        dispatch: { unpumped: 3 },
      })
    },
  })
}
