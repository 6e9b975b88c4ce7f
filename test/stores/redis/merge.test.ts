import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { createMerge, type Given } from '../../../src/stores/redis/shards/merge.ts'

describe('taking from several shards', () => {
  test('hands out nothing that is a second newer than what another shard has, though no signal comes', async (t) => {
    const at = clock(t)
    const shards = [every(7), every(9)]
    const { take } = createMerge(shards.length)
    const taken: number[] = []
    while (at() < 8_000) taken.push(...((await take('g', ask(shards, at, 150))) ?? []))
    assert.ok(taken.length > 1_000)
    assert.deepEqual(lateOf(taken), [])
  })

  test('asks a shard again whose signal came before the answer that it is empty', async (t) => {
    const at = clock(t)
    const shards: number[][] = [[], []]
    const { take, signalled } = createMerge(shards.length)
    assert.equal(await take('g', ask(shards, at, 1)), undefined)
    signalled(0)
    const asked = ask(shards, at, 1)
    const overtaken = async (shard: number, until: number) => {
      const answer = await asked(shard, until)
      if (shard === 0 && shards[0]?.length === 0) {
        shards[0].push(at() - 1)
        signalled(0)
      }
      return answer
    }
    const first = (await take('g', overtaken, false)) ?? (await take('g', asked, false))
    assert.equal(first?.length, 1)
  })
})

/** The time; with an argument it goes on by so many ms. */
function clock(t: TestContext) {
  t.mock.timers.enable({ apis: ['Date'], now: 1 })
  // Waits run on the monotonic clock, which the timers of the test do not replace.
  t.mock.method(performance, 'now', () => Date.now())
  return (by = 0) => {
    t.mock.timers.setTime(Date.now() + by)
    return Date.now()
  }
}

/** The times of events. */
function every(ms: number): number[] {
  return Array.from({ length: 1_000 }, (_, n) => 100 + n * ms)
}

/** Shards that hold the times of their events and hand out what is there by now. Calls take so many ms. */
function ask(shards: number[][], at: (by?: number) => number, latency: number) {
  return async (shard: number, until: number): Promise<Given<number[]>> => {
    at(latency / 2)
    const there = shards[shard]?.filter((time) => time <= at()) ?? []
    const value = there.filter((time) => time <= until)
    shards[shard]?.splice(0, value.length)
    at(latency / 2)
    const last = value.at(-1)
    if (last !== undefined) return { value, last }
    return there[0] === undefined ? undefined : { held: there[0] }
  }
}

function lateOf(times: readonly number[]): number[] {
  let newest = 0
  return times.filter((time) => {
    newest = Math.max(newest, time)
    return time < newest - 1_000
  })
}
