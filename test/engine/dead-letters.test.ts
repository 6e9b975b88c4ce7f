import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { createDeadLetters } from '../../src/engine/dead-letters.ts'
import { createLongWork } from '../../src/engine/long-work.ts'
import { bury, job } from '../contract/store/kit.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { openStore } from '../runtime/support/store.ts'
import { callOf } from './kit.ts'

const letterSchema = z.object({ id: z.string(), at: z.number() })

describe('dead-letter-list', () => {
  test('continues after a cursor, within its filter', async (t) => {
    const store = await openStore(t)
    const longWork = createLongWork({ store, owner: 'test', log: createMemoryLog(), now: Date.now })
    const letters = createDeadLetters({ store, longWork, now: Date.now })
    for (const id of ['a', 'b', 'c']) await bury({ store, now: Date.now }, 'q', job(id, id))
    const list = async (args: { before?: string; until?: number } = {}) =>
      z.array(letterSchema).parse(await letters.list({ limit: 9, ...args }, callOf()))
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
