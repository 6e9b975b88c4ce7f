import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { ActivityEntry } from '../../src/core/activity.ts'
import { VIEWER, VIEWER_SKILLS } from '../../src/core/viewer-role.ts'
import { assistantDocument } from '../../src/features/assistant/assistant-state.ts'
import { createStateManager } from '../../src/features/documents/manager.ts'
import type { FileSchedule } from '../../src/features/schedules/file-schedules.ts'
import type { Occasion } from '../../src/features/schedules/firing.ts'
import { addScheduleRun } from '../../src/features/schedules/schedule-runs.ts'
import { createSchedules, SCHEDULES_QUEUE } from '../../src/features/schedules/schedules.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { callFrom, silent, temporaryDir, toEvent } from './kit.ts'

const MINUTE = 60_000
const START = Date.UTC(2026, 0, 1, 12)
const digest: FileSchedule = {
  name: 'digest',
  cron: '0 * * * *',
  timezone: 'UTC',
  skill: 'digest',
  args: {},
  misfire: 'once',
  overlap: 'queue',
}
const operator = callFrom()
/** The value of a variable of the file. */
const VARIABLE = 's3cret-of-the-environment'
const timeOf = ({ planned }: Occasion) => new Date(planned).toISOString().slice(11, 16)

async function make(t: TestContext, ...first: FileSchedule[]) {
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
  let ofFile: readonly FileSchedule[] = first
  const add = addScheduleRun(store)
  const scheduler = (owner = 'a') =>
    createSchedules({
      runsOf: async () => [],
      store,
      ofFile: () => ofFile,
      placeOf: () => undefined,
      clean: (text) => text.replaceAll(VARIABLE, '[secret]'),
      state: manager.document(assistantDocument),
      async fire(occasion) {
        fired.push(occasion)
        return add(occasion)
      },
      record: async (entry) => void events.push(entry),
      permit: async () => {},
      pauseOfSkill: () => undefined,
      owner,
      log: silent,
      now,
    })
  return {
    scheduler,
    fired,
    events,
    store,
    /** Replaces the schedules of the file. */
    write(...schedules: FileSchedule[]) {
      ofFile = schedules
    },
    /** Advances the clock. */
    pass(minutes: number) {
      time += minutes * MINUTE
    },
  }
}

describe('schedules of routes.yaml', () => {
  test('fire once per planned time with two daemons, whichever looks first', async (t) => {
    const { scheduler, pass, fired } = await make(t, digest)
    const [one, two] = [scheduler('a'), scheduler('b')]
    await one.tick()
    for (let hour = 0; hour < 4; hour++) {
      pass(60)
      await (hour % 2 === 0 ? one : two).tick()
      await (hour % 2 === 0 ? two : one).tick()
    }
    assert.deepEqual(fired.map(timeOf), ['13:00', '14:00', '15:00', '16:00'])
    assert.equal(new Set(fired.map(({ key }) => key)).size, 4)
  })

  test('do not fire twice after a restart, and catch up as their `misfire` says', async (t) => {
    const { scheduler, pass, fired, events } = await make(t, digest)
    await scheduler().tick()
    pass(60)
    await scheduler().tick()
    pass(30)
    await scheduler('after a restart').tick()
    assert.deepEqual(fired.map(timeOf), ['13:00'])
    pass(160)
    await scheduler('after a pause').tick()
    assert.deepEqual(fired.map(timeOf), ['13:00', '16:00'])
    assert.equal(events.find(({ event }) => event === 'schedule_missed')?.count, 2)
  })

  test('follow a changed cron from now on; changed arguments do not change the times', async (t) => {
    const { scheduler, pass, fired, write } = await make(t, digest)
    const one = scheduler()
    await one.tick()
    pass(20)
    write({ ...digest, cron: '10 * * * *' })
    await one.tick()
    pass(100)
    await one.tick()
    assert.deepEqual(fired.map(timeOf), ['13:10'])
    write({ ...digest, cron: '10 * * * *', args: { text: 'of the week' } })
    pass(40)
    await one.tick()
    assert.deepEqual(fired.map(timeOf), ['13:10', '14:10'])
    assert.deepEqual(fired[1]?.schedule.args, { text: 'of the week' })
  })

  test('that return to the file do not catch up on the time between', async (t) => {
    const { scheduler, pass, fired, write } = await make(t, digest)
    const one = scheduler()
    await one.tick()
    write()
    await one.tick()
    pass(90)
    await one.tick()
    write(digest)
    await one.tick()
    assert.deepEqual(fired, [])
    pass(60)
    await one.tick()
    assert.deepEqual(fired.map(timeOf), ['14:00'])
  })

  test('for a single time fire once, also if the daemon was not running then', async (t) => {
    const { cron: _, ...rest } = digest
    const { scheduler, pass, fired } = await make(t, { ...rest, cron: '2026-01-01T13:30:00' })
    await scheduler().tick()
    pass(200)
    for (let n = 0; n < 3; n++) await scheduler().tick()
    assert.deepEqual(fired.map(timeOf), ['13:30'])
    assert.equal((await scheduler().list({}, operator))[0]?.next, undefined)
  })

  test('are shown to operators only, with their source, and cannot be deleted by a call', async (t) => {
    const one = (await make(t, digest)).scheduler()
    const [listed] = await one.list({}, operator)
    assert.deepEqual([listed?.id, listed?.source], ['digest', 'routes.yaml'])
    assert.deepEqual(await one.list({}, callFrom('team')), [])
    await assert.rejects(one.delete({ id: 'digest' }, operator), /is defined in routes\.yaml/)
    await assert.rejects(one.pause({ id: 'digest' }, callFrom('team')), { code: 'not_found' })
    await assert.rejects(one.run({ id: 'digset' }, operator), { code: 'not_found' })
  })

  for (const whose of ['of the file', 'of a person'] as const) {
    test(`${whose} skip their times while paused, also after a restart, and continue with the next`, async (t) => {
      const { scheduler, pass, fired } = await make(t, ...(whose === 'of the file' ? [digest] : []))
      const one = scheduler()
      const person = { cron: '0 * * * *', skill: 'digest', args: {}, misfire: 'once' }
      const { id } = whose === 'of the file' ? { id: 'digest' } : await one.create(person, callFrom('team'))
      await one.tick()
      await one.pause({ id }, operator)
      pass(130)
      await scheduler().tick()
      assert.notEqual((await one.list({}, operator))[0]?.paused, undefined)
      assert.equal((await one.run({ id }, operator)).ok, true)
      await one.resume({ id }, operator)
      await scheduler().tick()
      pass(60)
      await scheduler().tick()
      assert.deepEqual(fired.map(timeOf), ['14:10', '15:00'], 'the run by hand, then the next planned time')
      assert.equal((await one.list({}, operator))[0]?.paused, undefined)
    })
  }

  test('continue by themselves after a pause with an end, also if no daemon ran then', async (t) => {
    const { scheduler, pass, fired, events } = await make(t, digest)
    const one = scheduler()
    await one.tick()
    const { pause, changes } = await one.pause(
      { id: 'digest', for: 90 * MINUTE, reason: 'stocktaking' },
      operator,
    )
    assert.equal(pause.until, pause.since + 90 * MINUTE)
    assert.deepEqual(changes.pause.before, null)
    pass(70)
    await one.tick()
    const again = await one.pause({ id: 'digest', for: 60 * MINUTE }, operator)
    assert.equal(again.pause.since, pause.since, 'the same author changes the pause')
    assert.equal(again.changes.pause.before?.reason, 'stocktaking')
    pass(70)
    assert.equal((await one.show({ id: 'digest' }, operator)).paused, undefined)
    await scheduler('after a restart').tick()
    assert.deepEqual(fired.map(timeOf), [], 'no planned time is after the end of the pause')
    pass(60)
    await scheduler().tick()
    assert.deepEqual(fired.map(timeOf), ['15:00'])
    assert.equal(events.filter(({ event }) => event === 'schedule_resumed').length, 1)
  })

  test('with a name that JavaScript objects have as a property are not paused', async (t) => {
    const { scheduler, events } = await make(t, { ...digest, name: 'constructor' })
    const id = 'constructor'
    assert.equal((await scheduler().show({ id }, operator)).paused, undefined)
    await scheduler().resume({ id }, operator)
    assert.deepEqual(events, [], 'there was nothing to resume')
  })

  test('are run by hand once per key', async (t) => {
    const { scheduler, store } = await make(t, digest)
    const one = scheduler()
    for (const key of ['a', 'a', 'b']) await one.run({ id: 'digest', key }, operator)
    const claimed = async () => {
      const { items: jobs } = await store.jobs.claim(SCHEDULES_QUEUE, { max: 10, lease: MINUTE })
      for (const { id, token } of jobs)
        await store.jobs.settle(SCHEDULES_QUEUE, [{ id, token, outcome: 'done' }])
      return jobs.length
    }
    assert.deepEqual([await claimed(), await claimed(), await claimed()], [1, 1, 0])
  })

  for (const { overlap, what, expected, concurrent } of [
    { overlap: 'queue', what: 'waits for it', expected: ['13:00', '14:00', '15:00'], concurrent: 0 },
    { overlap: 'skip', what: 'is skipped', expected: ['13:00', '15:00'], concurrent: 0 },
    { overlap: 'allow', what: 'runs beside it', expected: ['13:00', '14:00', '15:00'], concurrent: 1 },
  ] as const) {
    test(`with overlap "${overlap}", a run that is due during another one ${what}`, async (t) => {
      const { scheduler, pass, fired, store, events } = await make(t, { ...digest, overlap })
      const one = scheduler()
      const claim = async () =>
        (await store.jobs.claim(SCHEDULES_QUEUE, { max: 10, lease: 600 * MINUTE })).items
      await one.tick()
      pass(60)
      await one.tick()
      const [first] = await claim()
      assert.ok(first)
      pass(60)
      await one.tick()
      assert.equal((await claim()).length, concurrent)
      const { id, token } = first
      await store.jobs.settle(SCHEDULES_QUEUE, [{ id, token, outcome: 'done' }])
      pass(60)
      await one.tick()
      assert.deepEqual(fired.map(timeOf), expected)
      const skipped = events.filter(({ event }) => event === 'schedule_skipped')
      assert.equal(skipped.length, overlap === 'skip' ? 1 : 0)
    })
  }

  test('are shown to viewers without the secrets in their arguments', async (t) => {
    const args = { url: `https://u:${VARIABLE}@example.com`, key: [VARIABLE], 'api-key': 'in-the-file', n: 3 }
    const { scheduler } = await make(t, { ...digest, args })
    const one = scheduler()
    const viewer = callFrom()
    viewer.caller = { kind: 'http', id: 'oidc:bob', roles: [VIEWER], skills: VIEWER_SKILLS }
    const shown = { url: 'https://u:[secret]@example.com', key: ['[secret]'], 'api-key': '[secret]', n: 3 }
    for (const [call, expected] of [
      [viewer, shown],
      [operator, args],
    ] as const) {
      const [listed] = await one.list({}, call)
      assert.deepEqual(listed?.args, expected)
      assert.deepEqual((await one.show({ id: 'digest' }, call)).args, expected)
    }
  })
})
