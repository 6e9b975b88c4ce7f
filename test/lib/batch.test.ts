import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createBatcher } from '../../src/lib/batch.ts'

const double = async (items: number[]) => items.map((item) => item * 2)

describe('a batcher', () => {
  test('runs all that was added in one turn together, and answers each with its own result', async () => {
    const batches: number[][] = []
    const batcher = createBatcher<number, number>({
      max: 100,
      run(items) {
        batches.push(items)
        return double(items)
      },
    })
    assert.deepEqual(await Promise.all([1, 2, 3].map(batcher.add)), [2, 4, 6])
    assert.deepEqual(await batcher.add(4), 8)
    assert.deepEqual(batches, [[1, 2, 3], [4]])
  })

  test('never hands over more than its maximum at once, and keeps the order', async () => {
    const batches: number[][] = []
    const batcher = createBatcher<number, number>({
      max: 2,
      run(items) {
        batches.push(items)
        return double(items)
      },
    })
    await Promise.all([1, 2, 3, 4, 5].map(batcher.add))
    assert.deepEqual(batches, [[1, 2], [3, 4], [5]])
  })

  test('fails every item of a batch that failed, and goes on with the next', async () => {
    let fail = true
    const batcher = createBatcher<number, number>({
      max: 10,
      run(items) {
        if (fail) throw new Error('away')
        return double(items)
      },
    })
    const failed = await Promise.allSettled([batcher.add(1), batcher.add(2)])
    assert.deepEqual(
      failed.map(({ status }) => status),
      ['rejected', 'rejected'],
    )
    assert.equal(batcher.pending(), 0)
    fail = false
    assert.equal(await batcher.add(3), 6)
  })

  test('counts what waits and what runs, and is idle only when neither is left', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const batcher = createBatcher<number, number>({
      max: 10,
      async run(items) {
        await promise
        return double(items)
      },
    })
    const added = batcher.add(1)
    assert.equal(batcher.pending(), 1)
    let idle = false
    const becameIdle = batcher.idle().then(() => {
      idle = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(batcher.pending(), 1)
    assert.equal(idle, false)
    resolve()
    await Promise.all([added, becameIdle])
    assert.equal(batcher.pending(), 0)
    await batcher.idle()
  })

  test('serial: one batch runs at a time, and what is added meanwhile goes into the next one together', async () => {
    const batches: number[][] = []
    const gates: (() => void)[] = []
    const batcher = createBatcher<number, number>({
      max: 10,
      serial: true,
      async run(items) {
        batches.push(items)
        await new Promise<void>((resolve) => gates.push(resolve))
        return items
      },
    })
    const first = batcher.add(1)
    while (gates.length === 0) await new Promise((resolve) => setImmediate(resolve))
    const rest = [batcher.add(2), batcher.add(3)]
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(batches, [[1]])
    gates[0]?.()
    await first
    while (gates.length === 1) await new Promise((resolve) => setImmediate(resolve))
    gates[1]?.()
    assert.deepEqual(await Promise.all(rest), [2, 3])
    assert.deepEqual(batches, [[1], [2, 3]])
  })
})
