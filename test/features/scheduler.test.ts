import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { ActivityEntry } from '../../src/core/activity.ts'
import { askedBy } from '../../src/core/asked-by.ts'
import type { Call } from '../../src/core/call.ts'
import { plannedTimes } from '../../src/core/planned-times.ts'
import { assistantDocument } from '../../src/features/assistant/assistant-state.ts'
import { createPlanning } from '../../src/features/assistant/planning.ts'
import { createStateManager } from '../../src/features/documents/manager.ts'
import type { FileSchedule } from '../../src/features/schedules/file-schedules.ts'
import type { Occasion } from '../../src/features/schedules/firing.ts'
import { createSchedules } from '../../src/features/schedules/schedules.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { callFrom, silent, temporaryDir, toEvent } from './kit.ts'

const MINUTE = 60_000
const START = Date.UTC(2026, 0, 1, 12)
const hourly = { name: 'hourly', cron: '0 * * * *', skill: 'digest', args: {}, misfire: 'once' }
const cli = callFrom()

async function make(t: TestContext) {
  const dir = temporaryDir(t)
  let time = START
  const now = () => time
  const store = await createEmbeddedStore({ dir, log: silent, toEvent, now })
  const manager = createStateManager({ dir, documents: [assistantDocument], now })
  t.after(async () => {
    await manager.close()
    await store.close()
  })
  const fired: Occasion[] = []
  const events: ActivityEntry[] = []
  let planned: readonly FileSchedule[] = []
  const scheduler = (fire = async (one: Occasion) => fired.push(one) > 0) =>
    createSchedules({
      store,
      ofFile: () => planned,
      state: manager.document(assistantDocument),
      fire,
      record: async (entry) => void events.push(entry),
      permit: async () => {},
      owner: 'a',
      log: silent,
      now,
    })
  const pass = (ms: number) => {
    time += ms
  }
  const write = (...file: FileSchedule[]) => {
    planned = file
  }
  return { scheduler, pass, fired, events, write, store, now }
}

describe('schedules', () => {
  test('a crash between firing and noting it repeats the same key', async (t) => {
    const { scheduler, pass } = await make(t)
    const keys: string[] = []
    const dying = scheduler(async ({ key }) => {
      if (keys.push(key) === 1) throw new Error('killed')
      return true
    })
    await dying.create(hourly, cli)
    pass(60 * MINUTE)
    for (let n = 0; n < 3; n++) await dying.tick()
    assert.deepEqual(keys, [keys[0], keys[0]])
  })

  for (const [misfire, minutes, count, missed] of [
    ['skip', 190, 0, 3],
    ['once', 190, 1, 2],
    ['within: 5m', 190, 0, 3],
    ['within: 5m', 184, 1, 2],
  ] as const) {
    test(`after a pause of ${minutes} minutes, "${misfire}" fires ${count} and notes ${missed} as missed`, async (t) => {
      const { scheduler, pass, fired, events } = await make(t)
      const one = scheduler()
      await one.create({ ...hourly, misfire }, cli)
      pass(minutes * MINUTE)
      await one.tick()
      await one.tick()
      assert.equal(fired.length, count)
      assert.equal(events.find(({ event }) => event === 'schedule_missed')?.count, missed)
      pass(60 * MINUTE - (minutes % 60) * MINUTE)
      await one.tick()
      assert.equal(fired.length, count + 1)
    })
  }

  test('a clock that was ahead, when they fired or when they were made, silences none for ever', async (t) => {
    for (const whenMade of [false, true]) {
      const { scheduler, pass, fired } = await make(t)
      const one = scheduler()
      const { cron: _, ...rest } = hourly
      const pace = { ...rest, every: 60 * MINUTE }
      if (whenMade) pass(24 * 60 * MINUTE)
      await one.create(hourly, cli)
      await one.create({ ...pace, name: 'pace' }, cli)
      if (!whenMade) {
        pass(24 * 60 * MINUTE)
        await one.tick()
      }
      const before = fired.length
      pass(-24 * 60 * MINUTE)
      await one.tick()
      for (let hour = 0; hour < 3; hour++) {
        pass(60 * MINUTE)
        await one.tick()
      }
      assert.equal(fired.length - before, 6, `made ${whenMade ? 'ahead' : 'before'}`)
      assert.equal(new Set(fired.map(({ key }) => key)).size, fired.length)
    }
  })

  test('in words that come sooner than they are made fire once they are', async (t) => {
    const { scheduler, pass, fired, now } = await make(t)
    const one = scheduler()
    const slowly = async (...args: Parameters<typeof one.create>) => {
      pass(10_000)
      return one.create(...args)
    }
    const context = { words: () => [], mayUse: () => false, timezone: () => 'UTC' }
    const planning = createPlanning({ schedules: { ...one, create: slowly }, context, now })
    const { text } = Object(
      await planning['schedule-in-words']({ text: 'in 3 seconds: call Ada' }, callFrom('team')),
    )
    assert.match(text, /^schedule-1: I say "call Ada", in 3 seconds\.$/)
    for (let n = 0; n < 2; n++) await one.tick()
    assert.deepEqual(
      fired.map(({ planned }) => planned),
      [START + 3_000],
    )
  })

  test('are seen and ended by who made them, and by operators', async (t) => {
    const one = (await make(t)).scheduler()
    const [ada, bob] = [callFrom('team'), callFrom('team', { who: 'bob' })]
    const { id } = await one.create(hourly, ada)
    await one.create(hourly, cli)
    const seen = async (call: Call) => (await one.list({}, call)).length
    assert.deepEqual([await seen(ada), await seen(bob), await seen(cli)], [1, 0, 2])
    assert.deepEqual(await one.delete({ id }, bob), { ok: true, existed: false })
    assert.deepEqual(await one.delete({ id }, ada), { ok: true, existed: true })
    assert.equal(await seen(cli), 1)
  })

  test('of one message are made once, however often it is tried', async (t) => {
    const { scheduler, events } = await make(t)
    const one = scheduler()
    const ada = callFrom('team')
    const asked = (name: string) => one.create({ ...hourly, name }, ada, askedBy(ada))
    const [first, again, other] = [await asked('a'), await asked('a'), await asked('b')]
    assert.deepEqual([again.id, events.length], [first.id, 2])
    assert.notEqual(other.id, first.id)
  })
})

describe('daylight saving', () => {
  const TABLE = `
    a daily time that spring leaves out is due when the gap is over | 30 2 * * * | 03-28T00:00 | 03-28T01:30 03-29T01:00 03-30T00:30
    a daily time that comes twice in autumn is due once             | 30 2 * * * | 10-24T00:00 | 10-24T00:30 10-25T00:30 10-26T01:30
    every hour is every real hour in spring                         | 0 * * * *  | 03-28T23:30 | 03-29T00:00 03-29T01:00 03-29T02:00
    every hour is every real hour in autumn                         | 0 * * * *  | 10-24T23:30 | 10-25T00:00 10-25T01:00 10-25T02:00
    a daily time stays at its local hour                            | 0 9 * * *  | 03-28T00:00 | 03-28T08:00 03-29T07:00`
  for (const line of TABLE.trim().split('\n')) {
    const [what = '', cron = '', start, expected = ''] = line.split('|').map((cell) => cell.trim())
    test(what, () => {
      const created = `2026-${start}:00Z`
      const planned = plannedTimes({ cron, timezone: 'Europe/Berlin', created })
      let time = Date.parse(created)
      for (const one of expected.split(' ')) {
        time = planned.next(time) ?? Number.NaN
        assert.equal(new Date(time).toISOString().slice(5, 16), one)
      }
    })
  }

  test('a schedule that is years behind finds its newest time at once', () => {
    const planned = plannedTimes({ cron: '* * * * *', timezone: 'UTC', created: '2020-01-01T00:00:00Z' })
    const due = planned.due(Date.UTC(2020, 0, 1), Date.UTC(2026, 0, 1, 0, 0, 30))
    assert.deepEqual(due, { newest: Date.UTC(2026, 0, 1), count: 1000 })
  })
})
