import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createGatherer } from '../../src/lib/gather.ts'
import { until } from '../fixtures/until.ts'

const gatherer = (every: number, max = 100) => {
  const calls: number[][] = []
  const run = async (items: number[]) => void calls.push(items)
  return { calls, ...createGatherer({ every, max, run }) }
}

describe('items that are gathered', () => {
  test('are passed on together after a while', async () => {
    const { add, calls } = gatherer(5)
    for (const one of [1, 2, 3]) add(one)
    assert.deepEqual(calls, [])
    await until(() => calls.length > 0, 'the end of the while')
    assert.deepEqual(calls, [[1, 2, 3]])
  })

  test('are passed on at once where they are many', () => {
    const { add, calls, flush } = gatherer(60_000, 2)
    for (const one of [1, 2, 3]) add(one)
    assert.deepEqual(calls, [[1, 2]])
    return flush()
  })

  test('are passed on by a flush, which waits for what was passed on before', async () => {
    const held = Promise.withResolvers<void>()
    const ended: number[] = []
    const { add, flush } = createGatherer<number>({
      every: 60_000,
      max: 1,
      async run([one = 0]) {
        if (one === 1) await held.promise
        ended.push(one)
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
