import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createGatherer } from '../../src/lib/gather.ts'
import { until } from '../fixtures/until.ts'

const gatherer = (delay: number, max = 100) => {
  const calls: number[][] = []
  const run = async (items: number[]) => void calls.push(items)
  return { calls, ...createGatherer({ delay, max, run }) }
}

describe('gathered items', () => {
  test('are passed on together after `delay` ms', async () => {
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
      delay: 60_000,
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

  test('leave nothing of the results of earlier calls in memory', async () => {
    setFlagsFromString('--expose-gc')
    const collectGarbage: () => void = runInNewContext('gc')
    const results: WeakRef<object>[] = []
    const { add, flush } = createGatherer<number>({
      delay: 60_000,
      max: 1,
      async run() {
        const result = {}
        results.push(new WeakRef(result))
        return result
      },
    })
    for (const item of [1, 2, 3]) add(item)
    await flush()
    // The target of a new WeakRef stays until the current turn of the event loop ends.
    await setImmediate()
    collectGarbage()
    assert.deepEqual(
      results.map((result) => result.deref()),
      [undefined, undefined, undefined],
    )
  })
})
