import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Store } from '../../src/core/store.ts'
import { claimOne, failure } from '../contract/store/kit.ts'
import { until } from '../fixtures/until.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { callOf } from './kit.ts'
import { buryMessages, type Daemon, openLetters } from './letters-kit.ts'

const OPERATOR = callOf({ caller: { kind: 'cli', id: 'ada@host' } })

type Bulk = Parameters<Daemon['letters']['bulk']>[0]

async function endOf({ letters, work }: Daemon, args: Omit<Bulk, 'do'>) {
  const { job: begun } = Object(await letters.bulk({ do: 'retry', ...args }, OPERATOR))
  await until(async () => (await work.service.show({ id: begun.id })).state === 'done', 'the end of the job')
  return work.service.show({ id: begun.id })
}

/** Fails the next jobs permanently, once more. */
async function failAll(store: Store, many: number): Promise<string[]> {
  const failed: string[] = []
  for (let at = 0; at < many; at++) {
    const { id, token } = await claimOne(store, 'dispatch')
    const error = failure('another error', Date.now())
    await store.jobs.settle('dispatch', [{ id, token, outcome: 'dead', error, reason: 'attempts' }])
    failed.push(id)
  }
  return failed
}

const idsOf = (rows: unknown) => [rows].flat().map((row) => Object(row).id)
/** The dead letters that match, newest first. */
const list = async ({ letters }: Daemon, filter: object = {}): Promise<{ id: string; at: number }[]> =>
  Object(await letters.list({ ...filter, limit: 9 }, OPERATOR))

for (const { kind, place, open } of storeKinds()) {
  describe(`dead letters that are chosen for a job, on the ${kind} store`, () => {
    test('by their ids are retried, and no others, with their number as the target', async (t) => {
      const daemon = openLetters(t, await open(t, await place(t)))
      const [first = '', second = '', third = ''] = await buryMessages(daemon.store, ['a', 'b', 'c'])
      const ended = await endOf(daemon, { queue: 'dispatch', ids: [first, third, third, 'unknown'] })
      assert.deepEqual(ended.target, { do: 'retry', queue: 'dispatch', letters: 4 })
      assert.deepEqual([ended.done, ended.total, Object(ended.result).count], [2, 2, 2])
      assert.deepEqual(idsOf(await list(daemon)), [second])
      const { groups } = daemon.letters
      assert.deepEqual(await groups({ ids: [first] }, OPERATOR), [])
      assert.equal(Object(await groups({ ids: [second] }, OPERATOR))[0].count, 1)
    })

    test('by a job are those that it left, until they are retried again', async (t) => {
      const daemon = openLetters(t, await open(t, await place(t)))
      const { store } = daemon
      const ids = await buryMessages(store, ['a', 'b', 'c'])
      const one = await endOf(daemon, { ids: ids.slice(0, 2) })
      assert.deepEqual(await list(daemon, { job: one.id }), [])
      await failAll(store, 2)
      const left = await list(daemon, { job: one.id })
      assert.deepEqual(idsOf(left).toSorted(), ids.slice(0, 2).toSorted())
      const [newest] = left
      const next = { job: one.id, before: `${newest?.at}/${newest?.id}` }
      assert.deepEqual(idsOf(await list(daemon, next)), [idsOf(left)[1]])
      assert.deepEqual(await list(daemon, { job: one.id, group: 'returns' }), [])
      const two = await endOf(daemon, { job: one.id })
      assert.deepEqual([two.target, two.done], [{ do: 'retry', job: one.id }, 2])
      await failAll(store, 2)
      assert.deepEqual(await list(daemon, { job: one.id }), [])
      assert.equal((await list(daemon, { job: two.id })).length, 2)
    })

    test('by a job are read again only for their own page', async (t) => {
      const store = await open(t, await place(t))
      let reads = 0
      const get: typeof store.jobs.deadLetters.get = (...args) => {
        reads++
        return store.jobs.deadLetters.get(...args)
      }
      const counted = { ...store, jobs: { ...store.jobs, deadLetters: { ...store.jobs.deadLetters, get } } }
      const daemon = openLetters(t, counted)
      const ids = await buryMessages(
        store,
        Array.from({ length: 130 }, (_, at) => `lane ${at}`),
      )
      const { id: job } = await endOf(daemon, { ids })
      await failAll(store, ids.length)
      let [shown, page] = [0, await list(daemon, { job })]
      reads = 0
      for (
        ;
        page.length > 0;
        page = await list(daemon, { job, before: `${page.at(-1)?.at}/${page.at(-1)?.id}` })
      )
        shown += page.length
      assert.equal(shown, ids.length)
      assert.ok(reads <= 15 * 20, `${reads} reads for 15 pages`)
    })

    test('as of a time leave out later ones, and do not name the time', async (t) => {
      const daemon = openLetters(t, await open(t, await place(t)))
      const [first = ''] = await buryMessages(daemon.store, ['a'])
      const [shown] = await list(daemon)
      const asOf = Number(shown?.at) + 1
      await until(async () => Date.now() > asOf, 'a later time')
      const [later = ''] = await buryMessages(daemon.store, ['b'])
      const ended = await endOf(daemon, { queue: 'dispatch', asOf })
      assert.deepEqual(ended.target, { do: 'retry', queue: 'dispatch' })
      assert.equal(ended.done, 1)
      assert.deepEqual(idsOf(await list(daemon)), [later])
      assert.notEqual(first, later)
    })
  })
}
