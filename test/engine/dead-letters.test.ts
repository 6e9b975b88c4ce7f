import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { createDeadLetters } from '../../src/engine/dead-letters.ts'
import { createLongWork } from '../../src/engine/long-work.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { openStore } from '../runtime/support/store.ts'
import { callOf } from './kit.ts'

const listed = z.object({ id: z.string(), at: z.number() })

describe('dead-letter-list', () => {
  test('goes on from a cursor, but never past the end of its filter', async (t) => {
    const store = await openStore(t)
    const longWork = createLongWork({ store, owner: 'test', log: createMemoryLog(), now: Date.now })
    const letters = createDeadLetters({ store, longWork, now: Date.now })
    const die = async (id: string) => {
      await store.jobs.add('q', [{ id, lane: id, group: 'g' }])
      const { items } = await store.jobs.claim('q', { max: 1, lease: 60_000 })
      const [job] = items
      assert.ok(job)
      const error = { at: Date.now(), code: 'internal', message: id }
      await store.jobs.settle('q', [{ id, token: job.token, outcome: 'dead', error, reason: 'attempts' }])
    }
    for (const id of ['a', 'b', 'c']) await die(id)
    const list = async (args: { before?: string; until?: number } = {}) =>
      z.array(listed).parse(await letters.list({ limit: 9, ...args }, callOf()))
    const [newest] = await list()
    assert.ok(newest)
    const ids = async (args: { before: string; until?: number }) => (await list(args)).map(({ id }) => id)
    const before = `${newest.at + 1}/`
    assert.deepEqual(await ids({ before }), ['c', 'b', 'a'])
    assert.deepEqual(await ids({ before: `${newest.at}/c` }), ['b', 'a'])
    assert.deepEqual(await ids({ before, until: newest.at - 60_000 }), [])
    assert.deepEqual(await ids({ before: `${newest.at - 60_000}/`, until: newest.at + 1 }), [])
  })
})
