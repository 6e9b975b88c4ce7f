import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createBatcher } from '../../src/lib/batch.ts'

/** A batcher that doubles, after `before` is over, and the batches that it was given. */
function stage(options: { max?: number; serial?: boolean } = {}, before = async () => {}) {
  const batches: number[][] = []
  const batcher = createBatcher<number, number>({
    max: 10,
    ...options,
    async run(items) {
      batches.push(items)
      await before()
      return items.map((item) => item * 2)
    },
  })
  return { ...batcher, batches }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('a batcher', () => {
  test('runs all that was added in one turn together, and answers each with its own result', async () => {
    const { add, batches } = stage()
    assert.deepEqual(await Promise.all([1, 2, 3].map(add)), [2, 4, 6])
    assert.equal(await add(4), 8)
    assert.deepEqual(batches, [[1, 2, 3], [4]])
  })

  test('never hands over more than its maximum at once, and keeps the order', async () => {
    const { add, batches } = stage({ max: 2 })
    await Promise.all([1, 2, 3, 4, 5].map(add))
    assert.deepEqual(batches, [[1, 2], [3, 4], [5]])
  })

  test('fails every item of a batch that failed, and goes on with the next', async () => {
    let fail = true
    const { add, pending } = stage({}, async () => {
      if (fail) throw new Error('away')
    })
    const failed = await Promise.allSettled([add(1), add(2)])
    assert.ok(failed.every(({ status }) => status === 'rejected'))
    assert.equal(pending(), 0)
    fail = false
    assert.equal(await add(3), 6)
  })

  test('counts what waits and what runs, and is idle only when neither is left', async () => {
    const gate = Promise.withResolvers<void>()
    const { add, pending, idle } = stage({}, () => gate.promise)
    const added = add(1)
    let isIdle = false
    const becameIdle = idle().then(() => {
      isIdle = true
    })
    await turn()
    assert.deepEqual([pending(), isIdle], [1, false])
    gate.resolve()
    await Promise.all([added, becameIdle])
    assert.equal(pending(), 0)
    await idle()
  })

  test('serial: one batch runs at a time, and what is added meanwhile goes into the next one together', async () => {
    const gate = Promise.withResolvers<void>()
    const { add, batches } = stage({ serial: true }, () => gate.promise)
    const first = add(1)
    while (batches.length === 0) await turn()
    const rest = [add(2), add(3)]
    await turn()
    assert.deepEqual(batches, [[1]])
    gate.resolve()
    assert.deepEqual(await Promise.all([first, ...rest]), [2, 4, 6])
    assert.deepEqual(batches, [[1], [2, 3]])
  })
})
