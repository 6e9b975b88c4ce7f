import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { ActivityEntry } from '../../src/core/activity.ts'
import { askedBy } from '../../src/core/asked-by.ts'
import type { Call } from '../../src/core/call.ts'
import { plannedTimes } from '../../src/core/planned-times.ts'
import { DAY, HOUR, MINUTE } from '../../src/core/units.ts'
import { assistantDocument } from '../../src/features/assistant/assistant-state.ts'
import { createPlanning } from '../../src/features/assistant/planning.ts'
import { createStateManager } from '../../src/features/documents/manager.ts'
import { createScheduleFailures, failingSchedules } from '../../src/features/schedules/failures.ts'
import type { Occasion } from '../../src/features/schedules/firing.ts'
import type { SkillRuns } from '../../src/features/schedules/past-runs.ts'
import { createSchedules } from '../../src/features/schedules/schedules.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { callFrom, silent, temporaryDir, toEvent } from './kit.ts'

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
  const scheduler = (
    fire = async (occasion: Occasion) => fired.push(occasion) > 0,
    runs: Awaited<ReturnType<SkillRuns>> = [],
  ) =>
    createSchedules({
      runsOf: async () => runs,
      store,
      ofFile: () => [],
      placeOf: () => undefined,
      clean: (text) => text,
      state: manager.document(assistantDocument),
      fire,
      record: async (entry) => void events.push(entry),
      permit: async () => {},
      pauseOfSkill: () => undefined,
      owner: 'a',
      log: silent,
      now,
    })
  /** Advances the clock. */
  const pass = (ms: number) => {
    time += ms
  }
  return { scheduler, pass, fired, events, now, store }
}

describe('schedules', () => {
  test('show older runs with their errors, and the next planned times', async (t) => {
    const runs = [
      {
        at: 2 * HOUR + 47 * MINUTE,
        ms: 0,
        by: 'schedule schedule-1',
        code: 'skill_failed',
        error: 'no disk',
      },
    ]
    const { scheduler } = await make(t)
    const { id } = Object(await scheduler().create(hourly, cli))
    const shown = await scheduler(undefined, runs).show({ id }, cli)
    const [run] = shown.runs
    assert.equal(run?.error, 'no disk')
    const [first = 0, ...others] = shown.upcoming
    assert.deepEqual(
      others,
      [1, 2, 3, 4].map((hours) => first + hours * HOUR),
    )
  })

  test('have their last run from the runs of the skill, if it was before they were recorded', async (t) => {
    const { scheduler } = await make(t)
    const { id } = Object(await scheduler().create(hourly, cli))
    const run = { at: 9_000, ms: 4_000 }
    const of = (by: string, code?: string) => ({ ...run, by, ...(code !== undefined && { code }) })
    const lastRun = async (...runs: ReturnType<typeof of>[]) => {
      const [schedule] = await scheduler(undefined, runs).list({}, cli)
      return schedule?.lastRun
    }
    const known = { startedAt: 5_000, endedAt: 9_000 }
    assert.partialDeepStrictEqual(await lastRun(of('schedule other'), of(`schedule ${id}`)), {
      ...known,
      outcome: 'done',
    })
    assert.partialDeepStrictEqual(await lastRun(of(`schedule ${id}`, 'skill_failed')), {
      ...known,
      outcome: 'failed',
    })
    assert.equal(await lastRun(of('schedule other')), undefined)
  })

  test('fire again with the same key after a crash between firing and recording it', async (t) => {
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
    test(`fire ${count} of their times after ${minutes} minutes without a daemon, with misfire "${misfire}"`, async (t) => {
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

  for (const when of ['they fired', 'they were created'] as const)
    test(`fire every hour after the clock, a day ahead when ${when}, was set back`, async (t) => {
      const { scheduler, pass, fired } = await make(t)
      const one = scheduler()
      const { cron: _, ...rest } = hourly
      if (when === 'they were created') pass(DAY)
      await one.create(hourly, cli)
      await one.create({ ...rest, name: 'interval', every: HOUR }, cli)
      if (when === 'they fired') {
        pass(DAY)
        await one.tick()
      }
      const before = fired.length
      pass(-DAY)
      await one.tick()
      for (let hour = 0; hour < 3; hour++) {
        pass(HOUR)
        await one.tick()
      }
      assert.equal(fired.length - before, 6, 'both schedules, three times')
      assert.equal(new Set(fired.map(({ key }) => key)).size, fired.length)
    })

  test('fire if their time has passed before they are stored', async (t) => {
    const { scheduler, pass, fired, now } = await make(t)
    const one = scheduler()
    const createSlowly = async (...args: Parameters<typeof one.create>) => {
      pass(10_000)
      return one.create(...args)
    }
    const context = { words: () => [], mayUse: () => false, timezone: () => 'UTC' }
    const planning = createPlanning({ schedules: { ...one, create: createSlowly }, context, now })
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

  test('for a single time that was missed by hours still run, also after they were removed', async (t) => {
    const { scheduler, pass, fired } = await make(t)
    const one = scheduler()
    const { cron: _, ...rest } = hourly
    await one.create({ ...rest, at: '2026-01-01T13:00:00.000Z' }, callFrom('team'))
    pass(5 * HOUR)
    await one.tick()
    const [occasion] = fired
    assert.ok(occasion)
    assert.deepEqual(await one.list({}, cli), [], 'it is over')
    assert.equal(await scheduler().exists(occasion.schedule), true)
  })

  test('with more than 1000 planned times are removed an hour after the last one', async (t) => {
    const { scheduler, pass, now } = await make(t)
    const schedules = scheduler()
    await schedules.create({ ...hourly, name: 'many', cron: '*/10 * * * * * 2026', misfire: 'skip' }, cli)
    await schedules.create({ ...hourly, name: 'few', cron: '50 59 23 * * * 2026', misfire: 'skip' }, cli)
    pass(Date.UTC(2027, 0, 1) - now())
    await schedules.tick()
    assert.equal((await schedules.list({}, cli)).length, 2)
    pass(HOUR)
    await schedules.tick()
    assert.deepEqual(await schedules.list({}, cli), [])
  })

  test('that are deleted start no more runs', async (t) => {
    const { scheduler, pass, fired } = await make(t)
    const one = scheduler()
    const { id } = await one.create(hourly, cli)
    pass(HOUR)
    await one.tick()
    const [occasion] = fired
    assert.ok(occasion)
    assert.equal(await one.exists(occasion.schedule), true)
    await one.delete({ id }, cli)
    assert.equal(await one.exists(occasion.schedule), false)
  })

  test('that are deleted no longer count as failing', async (t) => {
    const { scheduler, store, now } = await make(t)
    const one = scheduler()
    const failing = await one.create(hourly, cli)
    await createScheduleFailures(store.kv, now).failed({ ...failing, error: 'no' }, 'job')
    assert.equal((await failingSchedules(store.kv)).length, 1)
    await one.delete({ id: failing.id }, cli)
    assert.deepEqual(await failingSchedules(store.kv), [])
  })

  test('for a single time refuse a cron expression, which would run again and again', async (t) => {
    const one = (await make(t)).scheduler()
    const { cron: at, ...rest } = hourly
    await assert.rejects(one.create({ ...rest, at }, cli), { code: 'usage' })
    assert.deepEqual(await one.list({}, cli), [])
  })

  test('are listed and deleted by their creator and by operators', async (t) => {
    const one = (await make(t)).scheduler()
    const [ada, bob] = [callFrom('team'), callFrom('team', { who: 'bob' })]
    const { id } = await one.create(hourly, ada)
    await one.create(hourly, cli)
    const count = async (call: Call) => (await one.list({}, call)).length
    assert.deepEqual([await count(ada), await count(bob), await count(cli)], [1, 0, 2])
    assert.deepEqual(await one.delete({ id }, bob), { ok: true, existed: false })
    assert.deepEqual(await one.delete({ id }, ada), { ok: true, existed: true })
    assert.equal(await count(cli), 1)
  })

  test('are created once per message, also if it is tried again', async (t) => {
    const { scheduler, events } = await make(t)
    const one = scheduler()
    const ada = callFrom('team')
    const create = (name: string) => one.create({ ...hourly, name }, ada, askedBy(ada))
    const [first, repeated, other] = [await create('a'), await create('a'), await create('b')]
    assert.equal(repeated.id, first.id)
    assert.notEqual(other.id, first.id)
    assert.equal(events.length, 2)
  })
})

describe('daylight saving', () => {
  const TABLE = `
    moves a daily time that is skipped in spring to the end of the gap | 30 2 * * * | 03-28T00:00 | 03-28T01:30 03-29T01:00 03-30T00:30
    fires a daily time that comes twice in autumn once                 | 30 2 * * * | 10-24T00:00 | 10-24T00:30 10-25T00:30 10-26T01:30
    leaves an hourly schedule hourly in spring                         | 0 * * * *  | 03-28T23:30 | 03-29T00:00 03-29T01:00 03-29T02:00
    leaves an hourly schedule hourly in autumn                         | 0 * * * *  | 10-24T23:30 | 10-25T00:00 10-25T01:00 10-25T02:00
    keeps the local hour of a daily time                               | 0 9 * * *  | 03-28T00:00 | 03-28T08:00 03-29T07:00`
  for (const line of TABLE.trim().split('\n')) {
    // The columns: title, cron in Berlin, time of creation in UTC, planned times in UTC.
    const [what = '', cron = '', start, expected = ''] = line.split('|').map((cell) => cell.trim())
    test(what, () => {
      const created = `2026-${start}:00Z`
      const planned = plannedTimes({ cron, timezone: 'Europe/Berlin', created })
      let time = Date.parse(created)
      for (const plannedTime of expected.split(' ')) {
        time = planned.next(time) ?? Number.NaN
        assert.equal(new Date(time).toISOString().slice(5, 16), plannedTime)
      }
    })
  }
})

describe('planned times', () => {
  test('that are years behind give the newest one, and a count of at most 1000', () => {
    const planned = plannedTimes({ cron: '* * * * *', timezone: 'UTC', created: '2020-01-01T00:00:00Z' })
    const due = planned.due(Date.UTC(2020, 0, 1), Date.UTC(2026, 0, 1, 0, 0, 30))
    assert.deepEqual(due, { newest: Date.UTC(2026, 0, 1), count: 1000 })
  })

  for (const [cron, step, last, next] of [
    ['* * * * *', '15 days', '2026-11-01T23:59', '2026-11-16T00:00'],
    ['* * * * * *', '2 months', '2026-11-30T23:59', '2027-01-01T00:00'],
    ['*/5 * * * *', '4 months', '2026-11-30T23:55', '2027-03-01T00:00'],
    ['* 9 * * 1-5', '999 weeks', '2026-11-06T09:59', '2045-12-25T09:00'],
  ] as const) {
    test(`of "${cron}" every ${step} are found across the pause, in both directions`, () => {
      const timezone = 'Europe/Berlin'
      const utc = (local: string) => new Date(`${local}:00+01:00`).getTime()
      const planned = plannedTimes({ cron, step, timezone, created: '2026-10-31T23:00:00Z' })
      assert.equal(planned.next(utc(last) + MINUTE - 1), utc(next))
      assert.equal(Math.floor((planned.last(utc(next) - 1) ?? 0) / MINUTE) * MINUTE, utc(last))
    })
  }
})
