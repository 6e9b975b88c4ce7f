import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { createMerge, type Given } from '../../../src/stores/redis/shards/merge.ts'

describe('taking from several shards', () => {
  test('hands out nothing a second newer than an event of another shard, even without signals', async (t) => {
    const advance = clock(t)
    const shards = [every(7), every(9)]
    const { take } = createMerge(shards.length)
    const taken: number[] = []
    while (advance() < 8_000) taken.push(...((await take('g', ask(shards, advance, 150))) ?? []))
    assert.ok(taken.length > 1_000)
    assert.deepEqual(lateOf(taken), [])
  })

  test('asks a shard again that signalled before it answered that it is empty', async (t) => {
    const advance = clock(t)
    const shards: number[][] = [[], []]
    const { take, signalled } = createMerge(shards.length)
    assert.equal(await take('g', ask(shards, advance, 1)), undefined)
    signalled(0)
    const askShard = ask(shards, advance, 1)
    const askThenSignal = async (shard: number, until: number) => {
      const answer = await askShard(shard, until)
      if (shard === 0 && shards[0]?.length === 0) {
        shards[0].push(advance() - 1)
        signalled(0)
      }
      return answer
    }
    const first = (await take('g', askThenSignal, false)) ?? (await take('g', askShard, false))
    assert.equal(first?.length, 1)
  })
})

/** A clock that stands still. Returns its time, after advancing it by the argument. */
function clock(t: TestContext) {
  t.mock.timers.enable({ apis: ['Date'], now: 1 })
  // The code waits on the monotonic clock, which `t.mock.timers` does not replace.
  t.mock.method(performance, 'now', () => Date.now())
  return (by = 0) => {
    t.mock.timers.setTime(Date.now() + by)
    return Date.now()
  }
}

/** The times of 1,000 events, `ms` apart. */
function every(ms: number): number[] {
  return Array.from({ length: 1_000 }, (_, n) => 100 + n * ms)
}

/**
 * Calls shards that contain the times of their events. Each hands out past ones, and takes
 * `latency` ms.
 */
function ask(shards: number[][], advance: (by?: number) => number, latency: number) {
  return async (shard: number, until: number): Promise<Given<number[]>> => {
    advance(latency / 2)
    const past = shards[shard]?.filter((time) => time <= advance()) ?? []
    const value = past.filter((time) => time <= until)
    shards[shard]?.splice(0, value.length)
    advance(latency / 2)
    const last = value.at(-1)
    if (last !== undefined) return { value, last }
    return past[0] === undefined ? undefined : { held: past[0] }
  }
}

/** The times that come more than a second after a newer one. */
function lateOf(times: readonly number[]): number[] {
  let newest = 0
  return times.filter((time) => {
    newest = Math.max(newest, time)
    return time < newest - 1_000
  })
}
