import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createGatherer } from '../../src/lib/gather.ts'
import { until } from '../fixtures/until.ts'

const gatherer = (every: number, max = 100) => {
  const calls: number[][] = []
  const run = async (items: number[]) => void calls.push(items)
  return { calls, ...createGatherer({ every, max, run }) }
}

describe('gathered items', () => {
  test('are passed on together after `every` ms', async () => {
    const { add, calls } = gatherer(5)
    for (const item of [1, 2, 3]) add(item)
    assert.deepEqual(calls, [])
    await until(() => calls.length > 0, 'the call')
    assert.deepEqual(calls, [[1, 2, 3]])
  })

  test('are passed on immediately when there are `max`', () => {
    const { add, calls, flush } = gatherer(60_000, 2)
    for (const item of [1, 2, 3]) add(item)
    assert.deepEqual(calls, [[1, 2]])
    return flush()
  })

  test('are passed on by a flush, which also waits for earlier calls', async () => {
    const held = Promise.withResolvers<void>()
    const ended: number[] = []
    const { add, flush } = createGatherer<number>({
      every: 60_000,
      max: 1,
      async run([item = 0]) {
        if (item === 1) await held.promise
        ended.push(item)
      },
    })
    add(1)
    add(2)
    const flushed = flush().then(() => [...ended])
    held.resolve()
    assert.deepEqual(await flushed, [2, 1])
    await flush()
  })
})
