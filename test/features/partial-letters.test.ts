import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeadLetter } from '../../src/core/store.ts'
import { createDeadLetterScan } from '../../src/features/notify/dead-letter-scan.ts'
import { createPauses } from '../../src/features/pauses/pauses.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { openStore } from '../runtime/support/store.ts'

const NOW = Date.UTC(2026, 0, 1)

function letterAt(at: number): DeadLetter {
  return { id: `job-${at}`, queue: 'dispatch', lane: 'l', group: 'g', errors: [], at, reason: 'attempts' }
}

test('dead letters of a shard that was away are reported when it is back, and the others only once', async (t) => {
  const store = await openStore(t)
  const mine = letterAt(NOW + 600_000)
  const hidden = letterAt(NOW + 1_000)
  let time = NOW
  let away: number[] | undefined = [3]
  const list = async () => {
    if (away) return { items: [mine], more: false, away }
    return { items: [mine, hidden], more: false }
  }
  const stats = async () => ({
    ...(await store.stats()),
    jobs: [{ queue: 'dispatch', waiting: 0, running: 0, dead: away ? 1 : 2 }],
  })
  const deadLetters = { ...store.jobs.deadLetters, list }
  const scan = createDeadLetterScan({ kv: store.kv, stats, jobs: { ...store.jobs, deadLetters } }, () => time)
  // Otherwise the cursor would be in the future, and not used.
  time += 700_000
  const report = async () => {
    const { letters, handled } = await scan.scan()
    await handled()
    return letters.map(({ id }) => id)
  }
  assert.deepEqual(await report(), [mine.id])
  assert.deepEqual(await report(), [])
  away = undefined
  assert.deepEqual(await report(), [hidden.id])
  assert.deepEqual(await report(), [])
})

test('the end of a pause releases the jobs of the reachable shards, and the others when they are back', async (t) => {
  const store = await openStore(t)
  const released: string[] = []
  let away: number[] | undefined = [3]
  const jobs = {
    async held(queue: string) {
      const all = queue === 'schedules' ? [] : away ? ['a'] : ['a', 'b']
      const items = all.filter((id) => !released.includes(id)).map((id) => ({ id, lane: id, group: 'g' }))
      return { items, more: false, ...(away && { away }) }
    },
    async unhold(_: string, ids: readonly string[]) {
      released.push(...ids)
      return ids.length
    },
  }
  let time = NOW
  const pauses = createPauses({
    store: { ...store, jobs },
    routes: () => [],
    queues: { dispatch: 'dispatch', runs: ['schedules'] },
    log: createMemoryLog(),
    now: () => time,
  })
  await pauses.prepare()
  pauses.start()
  cleanup(t, () => pauses.stop())
  await until(() => released.length > 0, 'the job of a reachable shard')
  assert.deepEqual(released, ['a'])
  // After the time in which a change is checked again.
  time += 60_000
  away = undefined
  await pauses.change((state) => ({ ...state }))
  await until(() => released.length > 1, 'the job of the other shard')
  assert.deepEqual(released, ['a', 'b'])
})
