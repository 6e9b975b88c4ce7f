import assert from 'node:assert/strict'
import type { ListPage, StoredNote } from '../../../src/core/erasing.ts'
import { MESSAGE_TOPIC } from '../../../src/core/event.ts'
import {
  acceptAll,
  bury,
  claimIds,
  claimOne,
  job,
  MINUTE,
  part,
  publishAll,
  pumpAll,
  SECOND,
  type StoreFactory,
  until,
} from './kit.ts'

async function readAll<T>(read: (after?: string) => Promise<ListPage<T>>): Promise<T[]> {
  const items: T[] = []
  let after: string | undefined
  do {
    const page = await read(after)
    items.push(...page.items)
    after = page.next
  } while (after !== undefined)
  return items
}

const byId = (a: { id: string }, b: { id: string }) => a.id.localeCompare(b.id)

/** Erasing the data of one person. */
export function erasingContract(factory: StoreFactory): void {
  part(factory, 'erasing', {
    'dropping a message removes it from every road, with its history, and no other message': async (
      bench,
    ) => {
      const { store } = bench
      await store.topics.subscribe(MESSAGE_TOPIC, 'g', 'start')
      const conversation = 'c'
      const ids = await acceptAll(store, ['one', 'two', 'three'], { conversation })
      const [first = '', dropped = '', last = ''] = ids
      for (const id of [first, dropped])
        await store.journal.note(id, [{ at: 1, road: 'outbox', what: 'sent' }])
      assert.equal(await store.erasing.dropMessages([dropped, dropped, 'no id']), 1)
      assert.equal(await store.erasing.dropMessages([dropped]), 0)
      const reopened = await bench.reopen()
      assert.equal(await reopened.journal.get(dropped), undefined)
      assert.deepEqual(await reopened.journal.history(dropped), [])
      assert.equal((await reopened.journal.history(first)).length, 1)
      const take = async () => (await reopened.receive.take({}))?.message.id
      assert.deepEqual([await take(), await take(), await take()], [first, last, undefined])
      const [batch] = await reopened.topics.read(MESSAGE_TOPIC, [{ group: 'g', max: 9, mode: 'consume' }])
      assert.deepEqual(
        batch?.items.map(({ id }) => id),
        [first, last],
      )
      assert.equal(batch?.missed, 1)
      assert.equal((await reopened.stats()).journal.messages, 2)
      const [fourth] = await acceptAll(reopened, ['four'], { conversation })
      assert.equal((await reopened.receive.take({ conversation }))?.message.id, fourth)
    },
    'dropping a message drops its job, even a claimed one, and frees the lane': async ({ store }) => {
      const [id = '', nextId = ''] = await acceptAll(store, ['one', 'two'], { conversation: 'c' })
      await store.jobs.add('dispatch', [
        job(id, 'l', { messageId: id }),
        job(nextId, 'l', { messageId: nextId }),
      ])
      const claimed = await claimOne(store, 'dispatch')
      assert.equal(claimed.id, id)
      await store.erasing.dropMessages([id])
      const notes = [{ at: 1, road: 'dispatch' as const, what: 'done' }]
      const settled = { id, token: claimed.token, outcome: 'done' as const, notes }
      assert.deepEqual(await store.jobs.settle('dispatch', [settled]), [false])
      // With several shards, the lane may become free a moment later.
      const next = await until(async () => (await claimIds(store, 'dispatch')).join(), 'the next job')
      assert.equal(next, nextId)
      assert.deepEqual(await readAll(store.erasing.notes), [])
    },
    'a message that is dropped while it waits for dispatch gets no job': async ({
      store,
      shared,
      second,
    }) => {
      const other = shared ? await second() : store
      const conversation = 'c'
      await acceptAll(store, ['before'], { conversation })
      await pumpAll(store)
      const [first = '', dropped = '', last = ''] = await acceptAll(store, ['a', 'b', 'c'], { conversation })
      const pump = async () => {
        // With several shards, the signal of a new message may arrive a moment later.
        const { cursor, items } = await until(async () => {
          const page = await store.journal.unpumped(9)
          return page.items.length > 0 ? page : undefined
        }, 'messages')
        const jobs = items.map(({ id }) => job(id, id, { messageId: id }))
        return { jobs, move: () => store.journal.pumped(cursor, last, jobs) }
      }
      const { jobs, move } = await pump()
      assert.equal(jobs.length, 3)
      await other.erasing.dropMessages([dropped])
      assert.equal(await move(), false)
      assert.equal(await (await pump()).move(), true)
      assert.deepEqual((await claimIds(store, 'dispatch')).toSorted(), [first, last])
    },
    'lists unfinished jobs and the results of ended ones, and drops some of them': async ({ store }) => {
      const jobOf = (name: string, id: string) => job(id, 'l', { data: { to: name } })
      await store.jobs.add('outbox', [
        { ...jobOf('ann', 'a'), notify: true },
        jobOf('bob', 'b'),
        jobOf('cat', 'c'),
      ])
      const { token } = await claimOne(store, 'outbox')
      await store.jobs.settle('outbox', [{ id: 'a', token, outcome: 'done', result: { for: 'ann' } }])
      const listed = await readAll(store.erasing.jobs)
      assert.deepEqual(listed.map(({ state, queue, id }) => `${state} ${queue} ${id}`).toSorted(), [
        'done outbox a',
        'unfinished outbox b',
        'unfinished outbox c',
      ])
      const waiting = await readAll((after) => store.erasing.jobs(after, 'unfinished'))
      assert.deepEqual(waiting.map(({ id }) => id).toSorted(), ['b', 'c'])
      await store.jobs.add('events', [jobOf('dan', 'd')])
      const ofQueue = (queue: string) => readAll((after) => store.erasing.jobs(after, { queue }))
      assert.deepEqual((await ofQueue('outbox')).toSorted(byId), waiting.toSorted(byId))
      assert.deepEqual(
        (await ofQueue('events')).map(({ queue, id }) => `${queue} ${id}`),
        ['events d'],
      )
      assert.deepEqual(await ofQueue('none'), [])
      await store.erasing.dropJobs(await ofQueue('events'))
      for (const name of ['ann', 'bob', 'cat']) assert.match(JSON.stringify(listed), new RegExp(`"${name}"`))
      await store.erasing.dropJobs(listed.filter(({ id }) => id !== 'c'))
      assert.deepEqual(
        (await readAll(store.erasing.jobs)).map(({ id }) => id),
        ['c'],
      )
      assert.equal(await store.jobs.end('outbox', 'a'), undefined)
      // With several shards, the lane may become free a moment later.
      assert.equal(await until(async () => (await claimIds(store, 'outbox')).join(), 'the last job'), 'c')
      assert.equal((await store.stats()).jobs.find(({ queue }) => queue === 'outbox')?.running, 1)
    },
    'lists a job as done only if it is, whatever the names of jobs and lanes': async (bench) => {
      const { store } = bench
      await bury(bench, 'outbox', job('dead:done:0', 'x:done:y'))
      await store.jobs.add('outbox', [job('a:done:0', 'x:done:y', { notify: true })])
      const { token } = await claimOne(store, 'outbox')
      await store.jobs.settle('outbox', [{ id: 'a:done:0', token, outcome: 'done', result: 1 }])
      await store.jobs.add('outbox', [job('b:done:0', 'x:done:y'), job('c:done:0', 'x:done:y')])
      const listed = await readAll(store.erasing.jobs)
      assert.deepEqual(listed.map(({ state, queue, id }) => `${state} ${queue} ${id}`).toSorted(), [
        'done outbox a:done:0',
        'unfinished outbox b:done:0',
        'unfinished outbox c:done:0',
      ])
    },
    'drops events, which groups count as missed, and whole topics': async ({ store }) => {
      const ids = await publishAll(store, 't', ['a', 'b', 'c'])
      await store.topics.subscribe('t', 'g', 'start')
      await store.erasing.dropEvents('t', ids.slice(1, 2))
      assert.deepEqual(await store.erasing.topics(), ['t'])
      const [batch] = await store.topics.read('t', [{ group: 'g', max: 9, mode: 'consume' }])
      assert.deepEqual([batch?.items.map(({ data }) => data), batch?.missed], [['a', 'c'], 1])
      await store.erasing.dropTopic('t')
      assert.deepEqual(await store.erasing.topics(), [])
      assert.equal(await store.topics.end('t'), 0)
      assert.deepEqual(await store.topics.groups('t'), [])
    },
    'drops single notes of a history': async ({ store }) => {
      const [id = ''] = await acceptAll(store, ['one'])
      const note = (by: string) => ({ at: 1, road: 'dispatch' as const, what: 'cancelled', detail: { by } })
      await store.journal.note(id, [note('ann'), note('bob')])
      const notes = await readAll(store.erasing.notes)
      await store.erasing.dropNotes(notes.filter(({ content }) => JSON.stringify(content).includes('ann')))
      assert.deepEqual(
        (await store.journal.history(id)).map(({ detail }) => detail),
        [{ by: 'bob' }],
      )
    },
    'changes the details of single notes, in their places': async ({ store }) => {
      const [id = ''] = await acceptAll(store, ['one'])
      const note = (by: string) => ({ at: 1, road: 'dispatch' as const, what: 'settled', detail: { by } })
      await store.journal.note(id, [note('ann'), note('bob')])
      const isOfAnn = ({ content }: StoredNote) => JSON.stringify(content).includes('ann')
      const change = async () => {
        const notes = (await readAll(store.erasing.notes)).filter(isOfAnn)
        await store.erasing.changeNotes(notes.map((one) => ({ note: one, detail: { by: 'nobody' } })))
        return notes
      }
      const [changed] = await change()
      assert.ok(changed)
      const detailsOf = async () =>
        (await store.journal.history(id)).map(({ what, detail }) => [what, detail])
      const expected = ['nobody', 'bob'].map((by) => ['settled', { by }])
      assert.deepEqual((await detailsOf()).slice(-2), expected)
      assert.deepEqual(await change(), [])
      // One that was dropped meanwhile stays away.
      await store.erasing.dropNotes(await readAll(store.erasing.notes))
      await store.erasing.changeNotes([{ note: changed, detail: { by: 'nobody' } }])
      assert.deepEqual(await detailsOf(), [])
    },
    '`keepTtl` overwrites a value without changing when it expires': async ({ store, advance }) => {
      await store.kv.set('k', 1, { ttl: MINUTE })
      advance(SECOND)
      await store.kv.set('k', 2, { keepTtl: true })
      advance(MINUTE - SECOND - 1)
      assert.equal((await store.kv.get('k'))?.value, 2)
      advance(1)
      assert.equal(await store.kv.get('k'), undefined)
    },
    '`keepTtl` does not bring back the expiry of an expired value': async ({ store, advance }) => {
      await store.kv.set('k', 1, { ttl: MINUTE })
      advance(MINUTE)
      await store.kv.set('k', 2, { keepTtl: true })
      advance(MINUTE)
      assert.equal((await store.kv.get('k'))?.value, 2)
    },
    'accepts messages while free space is overwritten': async ({ store }) => {
      const texts = Array.from({ length: 50 }, (_, n) => `${n} ${'x'.repeat(20_000)}`)
      await store.erasing.dropMessages(await acceptAll(store, texts))
      const [, [id = '']] = await Promise.all([store.erasing.overwrite(), acceptAll(store, ['meanwhile'])])
      assert.equal((await store.journal.get(id))?.text, 'meanwhile')
    },
  })
}
