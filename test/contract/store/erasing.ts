import assert from 'node:assert/strict'
import type { ListPage } from '../../../src/core/erasing.ts'
import { MESSAGE_TOPIC } from '../../../src/core/event.ts'
import type { Store } from '../../../src/core/store.ts'
import { until } from '../../fixtures/until.ts'
import { acceptAll, MINUTE, part, SECOND, type StoreFactory, saying } from './kit.ts'

async function all<T>(read: (after?: string) => Promise<ListPage<T>>): Promise<T[]> {
  const items: T[] = []
  let after: string | undefined
  do {
    const found = await read(after)
    items.push(...found.items)
    after = found.next
  } while (after !== undefined)
  return items
}

const accept = (store: Store, texts: readonly string[], conversation = 'c') =>
  acceptAll(store, texts, { conversation })

/** Erasing what is about one person. */
export function erasingContract(factory: StoreFactory): void {
  part(factory, 'erasing', {
    'a message goes from every road with its history, and the others of its conversation stay': async (
      bench,
    ) => {
      const { store } = bench
      await store.topics.subscribe(MESSAGE_TOPIC, 'g', 'start')
      const [first = '', gone = '', last = ''] = await accept(store, ['one', 'two', 'three'])
      for (const id of [first, gone]) await store.journal.note(id, [{ at: 1, road: 'outbox', what: 'sent' }])
      assert.equal(await store.erasing.dropMessages([gone, gone, 'no id']), 1)
      assert.equal(await store.erasing.dropMessages([gone]), 0)
      const after = await bench.reopen()
      assert.equal(await after.journal.get(gone), undefined)
      assert.deepEqual(await after.journal.history(gone), [])
      assert.equal((await after.journal.history(first)).length, 1)
      const taken = [await after.receive.take({}), await after.receive.take({}), await after.receive.take({})]
      assert.deepEqual(
        taken.map((one) => one?.message.id),
        [first, last, undefined],
      )
      const [batch] = await after.topics.read(MESSAGE_TOPIC, [{ group: 'g', max: 9, mode: 'consume' }])
      assert.deepEqual(
        batch?.items.map(({ id }) => id),
        [first, last],
      )
      assert.equal(batch?.missed, 1)
      assert.equal((await after.stats()).journal.messages, 2)
      const again = await after.journal.accept([saying('four', { conversation: 'c' })])
      assert.equal((await after.receive.take({ conversation: 'c' }))?.message.id, again[0]?.id)
    },
    'its jobs go too, and the next job of the lane runs, whoever works on the one that went': async ({
      store,
    }) => {
      const [id = '', next = ''] = await accept(store, ['one', 'two'])
      const job = (messageId: string) => ({ id: messageId, lane: 'l', group: 'g', messageId })
      await store.jobs.add('dispatch', [job(id), job(next)])
      const { items: jobs } = await store.jobs.claim('dispatch', { max: 9, lease: MINUTE })
      const [claimed] = jobs
      assert.equal(claimed?.id, id)
      await store.erasing.dropMessages([id])
      const notes = [{ at: 1, road: 'dispatch' as const, what: 'done' }]
      const settled = { id, token: claimed?.token ?? '', outcome: 'done' as const, notes }
      assert.deepEqual(await store.jobs.settle('dispatch', [settled]), [false])
      // Over shards the signal that there is a job may come a moment later.
      let more: string[] = []
      await until(async () => {
        more = (await store.jobs.claim('dispatch', { max: 9, lease: MINUTE })).items.map((one) => one.id)
        return more.length > 0
      }, 'the next job')
      assert.deepEqual(more, [next])
      assert.deepEqual(await all(store.erasing.notes), [])
    },
    'unfinished jobs and remembered ends are shown whole, and removed one by one': async ({ store }) => {
      await store.jobs.add('outbox', [
        { id: 'a', lane: 'l', group: 'g', data: { to: 'ann' }, notify: true },
        { id: 'b', lane: 'l', group: 'g', data: { to: 'bob' } },
        { id: 'c', lane: 'l', group: 'g', data: { to: 'cat' } },
      ])
      const claim = async () => (await store.jobs.claim('outbox', { max: 9, lease: MINUTE })).items[0]
      const first = await claim()
      await store.jobs.settle('outbox', [
        { id: 'a', token: first?.token ?? '', outcome: 'done', result: { for: 'ann' } },
      ])
      const found = await all(store.erasing.jobs)
      assert.deepEqual(found.map(({ state, queue, id }) => `${state} ${queue} ${id}`).toSorted(), [
        'done outbox a',
        'unfinished outbox b',
        'unfinished outbox c',
      ])
      assert.match(JSON.stringify(found), /"ann".*|.*"bob"/)
      await store.erasing.dropJobs(found.filter(({ id }) => id !== 'c'))
      assert.deepEqual(
        (await all(store.erasing.jobs)).map(({ id }) => id),
        ['c'],
      )
      assert.equal(await store.jobs.end('outbox', 'a'), undefined)
      // Over shards the signal that there is a job may come a moment later.
      assert.equal((await until(claim, 'the job that is left')).id, 'c')
      assert.equal((await store.stats()).jobs.find(({ queue }) => queue === 'outbox')?.running, 1)
    },
    'events and whole topics go, and groups learn what they missed': async ({ store }) => {
      const ids = await store.topics.publish(
        't',
        [1, 2, 3].map((n) => ({ type: 'e', source: 's', data: n })),
      )
      await store.topics.subscribe('t', 'g', 'start')
      await store.erasing.dropEvents('t', ids.slice(1, 2))
      assert.deepEqual(await store.erasing.topics(), ['t'])
      const [batch] = await store.topics.read('t', [{ group: 'g', max: 9, mode: 'consume' }])
      assert.deepEqual([batch?.items.map(({ data }) => data), batch?.missed], [[1, 3], 1])
      await store.erasing.dropTopic('t')
      assert.deepEqual(await store.erasing.topics(), [])
      assert.equal(await store.topics.end('t'), 0)
      assert.deepEqual(await store.topics.groups('t'), [])
    },
    'lines of histories are removed one by one': async ({ store }) => {
      const [id = ''] = await accept(store, ['one'])
      const note = (by: string) => ({ at: 1, road: 'dispatch' as const, what: 'cancelled', detail: { by } })
      await store.journal.note(id, [note('ann'), note('bob')])
      const found = await all(store.erasing.notes)
      await store.erasing.dropNotes(found.filter(({ content }) => JSON.stringify(content).includes('ann')))
      assert.deepEqual(
        (await store.journal.history(id)).map(({ detail }) => detail),
        [{ by: 'bob' }],
      )
    },
    'a value that is written again may keep its end': async ({ store, advance }) => {
      await store.kv.set('k', 1, { ttl: MINUTE })
      advance(SECOND)
      await store.kv.set('k', 2, { keepTtl: true })
      advance(MINUTE - SECOND - 1)
      assert.equal((await store.kv.get('k'))?.value, 2)
      advance(1)
      assert.equal(await store.kv.get('k'), undefined)
    },
    'what is free is overwritten while messages come in': async ({ store }) => {
      const ids = await accept(
        store,
        Array.from({ length: 50 }, (_, n) => `${n} ${'x'.repeat(20_000)}`),
      )
      await store.erasing.dropMessages(ids)
      const [, accepted] = await Promise.all([store.erasing.overwrite(), accept(store, ['meanwhile'])])
      assert.equal((await store.journal.get(accepted[0] ?? ''))?.text, 'meanwhile')
    },
  })
}
