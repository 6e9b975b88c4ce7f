import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import { toJson } from '../../src/core/json.ts'
import { DAY, HOUR, MINUTE } from '../../src/core/units.ts'
import { createCost } from '../../src/features/usage/cost.ts'
import { createCostLedger } from '../../src/features/usage/cost-ledger.ts'
import { withRuns } from '../../src/features/usage/cost-of-runs.ts'
import { printers, runsText } from '../../src/features/usage/print.ts'
import { createRecentUse } from '../../src/features/usage/recent-use.ts'
import { createRunLogs } from '../../src/features/usage/run-log.ts'
import { createRunningRuns } from '../../src/features/usage/running-runs.ts'
import { createSkillUsage } from '../../src/features/usage/skill-usage.ts'
import { costCsv } from '../../src/lib/cost-csv.ts'
import { quantileOf } from '../../src/lib/quantile.ts'
import { quantile, type RunHistogram } from '../../src/lib/run-histogram.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { callFrom, silent, temporaryDir, toEvent } from './kit.ts'

async function make(t: TestContext) {
  const clock = { time: Date.UTC(2026, 0, 1, 12) }
  const now = () => clock.time
  const store = await createEmbeddedStore({ dir: temporaryDir(t), log: silent, toEvent, now })
  t.after(() => store.close())
  /** Number of writes until one fails. `isStored`: only its answer is lost. */
  const failing = { after: Infinity, isStored: false }
  const set: typeof store.kv.set = async (...args) => {
    const isFailed = failing.after-- === 0
    const version = isFailed && !failing.isStored ? undefined : await store.kv.set(...args)
    if (isFailed) throw new TriviumError('store_unavailable', { store: 'embedded', reason: 'no' })
    return version
  }
  const kv = { ...store.kv, set }
  const ledger = createCostLedger({ kv, now })
  const runs = createRunLogs({ kv, now })
  const cost = createCost({ ledger, currency: () => undefined, budgets: async () => [], now })
  const skillUsage = createSkillUsage({
    runs,
    running: createRunningRuns(),
    cost,
    requireSkill: () => undefined,
    now,
  })
  return { clock, now, ledger, runs, cost, skillUsage, failing, kv }
}

test('the cost of the last month is complete after a year of use', async (t) => {
  const { clock, ledger, cost } = await make(t)
  const step = { model: 'm', skill: 's', sender: 'ada', inputTokens: 1, outputTokens: 1 }
  const added: Promise<void>[] = []
  for (let day = 0; day < 365; day += 1) {
    added.push(ledger.add(step))
    clock.time += DAY
  }
  await Promise.all(added)
  const { total } = await cost({ by: 'model', since: clock.time - 30 * DAY })
  // Of 30 days, the last of which is today: the last step was yesterday.
  assert.equal(total.steps, 29)
})

test('the runs of a skill are counted even if JavaScript objects have a property of its name', async (t) => {
  const { clock, runs, skillUsage } = await make(t)
  const since = clock.time - HOUR
  for (const count of [1, 2]) {
    runs.add('constructor', { at: clock.time, ms: 5, by: 'cli' })
    const [one, all] = [
      await skillUsage({ name: 'constructor', since, limit: 30 }, callFrom()),
      await skillUsage({ since, limit: 30 }, callFrom()),
    ]
    assert.equal(Object(one).runs, count)
    assert.equal(Object(all)[0].runs, count)
  }
  assert.equal(Object(await skillUsage({ name: 'valueof', since, limit: 30 }, callFrom())).runs, 0)
})

test('the senders of a budget are those of its window, whatever the range of the cost is', async (t) => {
  const { clock, ledger, now } = await make(t)
  const step = { model: 'm', skill: 's', inputTokens: 1, outputTokens: 1 }
  await ledger.add({ ...step, sender: 'lena', inputTokens: 79_000 })
  clock.time += 10 * HOUR
  await ledger.add({ ...step, sender: 'omar' })
  const asked: (readonly string[])[] = []
  const budgets = async (topSenders: (per: number) => Promise<readonly string[]>) => {
    for (const per of [DAY, HOUR, 30 * DAY]) asked.push(await topSenders(per))
    return []
  }
  const cost = createCost({ ledger, currency: () => undefined, budgets, now })
  assert.equal((await cost({ by: 'sender', since: clock.time - HOUR })).rows.length, 1)
  assert.deepEqual(asked, [['lena', 'omar'], ['omar'], ['lena', 'omar']])
})

test('the cost over time has steps of five minutes, an hour or a day, as fits the range', async (t) => {
  const { clock, ledger, cost } = await make(t)
  const step = { model: 'm', skill: 's', sender: 'ada', inputTokens: 1, outputTokens: 1 }
  for (const minutes of [0, 55, 8, 61]) {
    clock.time += minutes * MINUTE
    await ledger.add(step)
  }
  const namesSince = async (age: number) => {
    const { rows, step } = Object(await cost({ by: 'time', since: clock.time - age }))
    return [step, ...rows.map(({ name }: { name: string }) => name.slice(8))]
  }
  assert.deepEqual(await namesSince(3 * HOUR), [
    5 * MINUTE,
    ...['01T12:00Z', '01T12:55Z', '01T13:00Z', '01T14:00Z'],
  ])
  assert.deepEqual(await namesSince(6 * HOUR), [HOUR, '01T12:00Z', '01T13:00Z', '01T14:00Z'])
  assert.deepEqual(await namesSince(7 * DAY), [DAY, '01'])
})

for (const isStored of [false, true]) {
  const cause = isStored ? 'of which only the answer was lost' : 'that failed'

  test(`runs in a write ${cause} are counted once by the next flush`, async (t) => {
    const { clock, runs, skillUsage, failing } = await make(t)
    failing.isStored = isStored
    const since = clock.time - HOUR
    // Two skills, each with a log and failures, and one slot.
    const writes = 5
    for (let failed = 0; failed < writes; failed++) {
      const at = clock.time
      for (const skill of ['orders', 'refunds'])
        runs.add(skill, { at, ms: 5, by: 'cli', code: 'skill_failed' })
      failing.after = failed
      await assert.rejects(runs.flush(), { code: 'store_unavailable' })
      clock.time += 1
      await runs.flush()
    }
    for (const name of ['orders', 'refunds']) {
      const days = Object(await skillUsage({ name, since: since - 30 * HOUR, limit: 30 }, callFrom()))
      const hour = Object(await skillUsage({ name, since, limit: 30 }, callFrom()))
      const { runs: all, failed } = hour
      assert.deepEqual([days.runs, all, failed, hour.recent.length], [writes, writes, writes, writes])
      assert.equal((await runs.failures(name)).length, writes)
    }
  })

  test(`the usage of a model in a write ${cause} is counted once`, async (t) => {
    const { clock, ledger, cost, failing } = await make(t)
    failing.isStored = isStored
    const step = { model: 'm', skill: 's', sender: 'ada', inputTokens: 1, outputTokens: 1 }
    // A day and a slot.
    for (const failed of [0, 1]) {
      failing.after = failed
      const added = [ledger.add(step), ledger.add(step)]
      for (const each of added) await assert.rejects(each, { code: 'store_unavailable' })
    }
    await ledger.add(step)
    for (const since of [clock.time - HOUR, clock.time - 30 * DAY])
      assert.equal((await cost({ by: 'model', since })).total.steps, 5)
    await ledger.flush()
    assert.equal((await cost({ by: 'model', since: clock.time - HOUR })).total.steps, 5)
  })
}

test('several daemons add to the same usage, also of skills named as the mark of a document', async (t) => {
  const { clock, runs, skillUsage, kv } = await make(t)
  const others = Array.from({ length: 30 }, () => createRunLogs({ kv, now: () => clock.time }))
  for (const each of [runs, ...others, runs]) {
    each.add('applied', { at: clock.time, ms: 5, by: 'cli', code: 'skill_failed' })
    await each.flush()
  }
  const all = Object(await skillUsage({ since: clock.time - HOUR, limit: 30 }, callFrom()))
  assert.deepEqual([all.length, all[0].runs], [1, 32])
  assert.equal((await runs.failures('applied')).length, 32)
})

test('failed runs are found among any number of others, and cancelled ones are not failed', async (t) => {
  const { clock, runs, skillUsage } = await make(t)
  const failed = { ms: 5, by: 'route orders', code: 'skill_failed' }
  for (let order = 5000; order < 5040; order += 1)
    runs.add('book', {
      at: clock.time++,
      ...failed,
      error: `order ${order}: no such SKU 12`,
      messageId: `m${order}`,
    })
  runs.add('book', { at: clock.time++, ...failed, error: 'customs answered 502' })
  runs.add('book', { at: clock.time++, ms: 9, by: 'cli', code: 'run_cancelled', error: 'Cancelled by Sven' })
  for (let at = 0; at < 300; at += 1) runs.add('book', { at: clock.time++, ms: 5, by: 'route orders' })
  const ask = async (more: object) =>
    Object(await skillUsage({ name: 'book', limit: 30, ...more }, callFrom()))
  const all = await ask({})
  assert.deepEqual([all.runs, all.failed, all.cancelled, all.recent.length, all.more], [342, 41, 1, 30, true])
  assert.deepEqual(
    all.errors.map(({ count, error, messageId }: Record<string, unknown>) => [count, error, messageId]),
    [
      [40, 'order …: no such SKU 12', 'm5039'],
      [1, 'customs answered 502', undefined],
    ],
  )
  const [noSuchSku] = all.errors
  assert.equal(noSuchSku.lastAt - noSuchSku.firstAt, 39, 'the first of the 40 is known too')
  const alike = await ask({ error: noSuchSku.pattern, limit: 200 })
  assert.deepEqual([alike.recent.length, alike.more], [40, false])
  assert.ok(alike.recent.every(({ messageId }: { messageId: string }) => messageId.startsWith('m50')))
  const failures = await ask({ outcome: 'failed', limit: 200 })
  assert.deepEqual([failures.recent.length, failures.more], [41, false])
  const cancelled = await ask({ outcome: 'cancelled' })
  assert.deepEqual(
    cancelled.recent.map(({ by }: { by: string }) => by),
    ['cli'],
  )
})

test('runs of test messages are listed, and count neither as runs nor as the last one', async (t) => {
  const { clock, runs, skillUsage } = await make(t)
  runs.add('ship', { at: clock.time, ms: 5, by: 'route orders', messageId: 'real' })
  for (let at = 0; at < 130; at += 1)
    runs.add('ship', {
      at: clock.time + 60_000 + at,
      ms: 900,
      by: 'route returns',
      messageId: `t${at}`,
      code: 'skill_failed',
      error: 'no',
      test: true,
    })
  const one = Object(await skillUsage({ name: 'ship', limit: 30 }, callFrom()))
  const { recent, errors, callers, runs: many, failed, tests, lastAt, lastCode, p95 } = one
  assert.deepEqual([many, failed, tests, p95], [1, 0, 130, 5])
  assert.deepEqual([lastAt, lastCode], [clock.time, undefined])
  assert.deepEqual([errors, callers], [[], [{ by: 'route orders', runs: 1 }]])
  assert.ok(recent.every(({ test }: { test?: true }) => test))
})

test('the last run of a skill is known in every range, also if it has none there', async (t) => {
  const { clock, runs, skillUsage } = await make(t)
  const at = clock.time
  runs.add('digest', { at, ms: 5, by: 'schedule night', code: 'skill_failed', error: 'no' })
  clock.time += 5 * HOUR
  const list = await skillUsage({ since: clock.time - HOUR, limit: 30 }, callFrom())
  assert.deepEqual(
    [list]
      .flat()
      .map(Object)
      .map(({ name, runs, lastAt, lastCode }) => [name, runs, lastAt, lastCode]),
    [['digest', 0, at, 'skill_failed']],
  )
})

test('cancelled runs do not count into the durations, and few runs have exact ones', async (t) => {
  const { clock, runs, skillUsage } = await make(t)
  for (const ms of [4_000, 4_100, 4_200]) runs.add('export', { at: clock.time++, ms, by: 'cli' })
  runs.add('export', {
    at: clock.time++,
    ms: 600_000,
    by: 'cli',
    code: 'run_cancelled',
    error: 'wrong month',
  })
  const few = Object(await skillUsage({ name: 'export', limit: 30 }, callFrom()))
  assert.deepEqual([few.runs, few.cancelled, few.p50, few.p95], [4, 1, 4_100, 4_200])
  assert.deepEqual(
    few.times.map(({ ms }: { ms: number }) => ms),
    [4_200, 4_100, 4_000],
  )
  for (let at = 0; at < 200; at += 1) runs.add('export', { at: clock.time++, ms: 15_000, by: 'cli' })
  const many = Object(await skillUsage({ name: 'export', limit: 30 }, callFrom()))
  assert.equal(many.times, undefined)
  assert.equal(few.isEstimated, undefined)
  assert.equal(many.isEstimated, true)
  assert.ok(Math.abs(many.p50 - 15_000) < 500 && Math.abs(many.p95 - 15_000) < 500, 'not the whole bucket')
  assert.match(runsText(many), /p50 ≈ 15 s, p95 ≈ 15 s/)
  const [{ durations }] = many.days
  assert.equal(
    durations.reduce((sum: number, each: number) => sum + each, 0),
    203,
  )
})

test('durations are at most 10 % off on each day and over several, and never above the longest', async (t) => {
  const { clock, runs, skillUsage } = await make(t)
  clock.time = Date.UTC(2026, 0, 1, 23, 50)
  const took = new Map<string, number[]>()
  // 20 minutes across midnight, stored at several times.
  for (let run = 0; run < 240; run += 1) {
    const ms = 4_010 + ((run * 37) % 130)
    runs.add('book', { at: clock.time, ms, by: 'route orders' })
    const day = new Date(clock.time).toISOString().slice(0, 10)
    took.set(day, [...(took.get(day) ?? []), ms])
    clock.time += 5_000
    if (run % 50 === 0) await runs.flush()
  }
  const isNear = (found: number | undefined, exact: number | undefined) =>
    assert.ok(Math.abs(Number(found) - Number(exact)) <= 0.1 * Number(exact), `${found} for ${exact}`)
  for (const since of [clock.time - 2 * DAY, clock.time - HOUR]) {
    const usage = Object(await skillUsage({ name: 'book', since, limit: 30 }, callFrom()))
    const all = [...took.values()].flat()
    assert.deepEqual([usage.runs, usage.isEstimated], [240, true])
    for (const [part, found] of [[0.5, usage.p50] as const, [0.95, usage.p95] as const])
      isNear(found, quantileOf(all, part))
    assert.ok(usage.p95 <= Math.max(...all))
    for (const counted of usage.days) {
      const ofDay = took.get(counted.day) ?? []
      assert.equal(counted.runs, ofDay.length)
      for (const part of [0.5, 0.95, 1]) isNear(quantile(counted, part), quantileOf(ofDay, part))
      assert.equal(quantile(counted, 1), Math.max(...ofDay))
    }
    const slots = usage.slots.map((slot: RunHistogram) => quantile(slot, 1))
    assert.equal(Math.max(...slots), Math.max(...all))
  }
})

test('attempts at the same message are several runs, of one message', async (t) => {
  const { clock, runs, skillUsage } = await make(t)
  const add = (messageId: string | undefined, error: string) =>
    runs.add('book', {
      ...{ at: clock.time++, ms: 5, by: 'route orders', code: 'skill_failed', error },
      ...(messageId !== undefined && { messageId }),
    })
  for (const id of ['a', 'b', 'a', 'a']) add(id, 'no such SKU')
  add('b', 'customs answered 502')
  const ask = async () => Object(await skillUsage({ name: 'book', limit: 30 }, callFrom()))
  const { failed, failedMessages, errors } = await ask()
  assert.deepEqual([failed, failedMessages], [5, 2])
  assert.deepEqual(
    errors.map(({ count, messages }: Record<string, unknown>) => [count, messages]),
    [
      [4, 2],
      [1, 1],
    ],
  )
  const [listed] = [await skillUsage({ limit: 30 }, callFrom())].flat()
  assert.equal(Object(listed).failedMessages, 2)
  // A run without a message, such as that of a schedule.
  add(undefined, 'no such SKU')
  assert.equal((await ask()).failedMessages, undefined)
})

test('an age of days is today and the days before it, and is compared with as many ended days', async (t) => {
  const { clock, ledger, cost } = await make(t)
  const step = { model: 'm', skill: 's', sender: 'ada', outputTokens: 0 }
  for (let day = 1; day <= 15; day += 1) {
    await ledger.add({ ...step, inputTokens: day })
    clock.time += DAY
  }
  clock.time -= DAY
  const { from, to, total, compared } = await cost({
    by: 'model',
    since: clock.time - 7 * DAY - 20,
    compare: true,
  })
  assert.deepEqual([from, to, total.steps], ['2026-01-09', '2026-01-15', 7])
  // Today, with 15 tokens, is not over.
  assert.deepEqual(
    [compared?.from, compared?.to, compared?.total.inputTokens],
    ['2026-01-09', '2026-01-14', 9 + 10 + 11 + 12 + 13 + 14],
  )
  const { before } = compared ?? {}
  assert.deepEqual(
    [before?.from, before?.to, before?.total.inputTokens],
    ['2026-01-03', '2026-01-08', 3 + 4 + 5 + 6 + 7 + 8],
  )
  // Two days are known to five minutes, but not the two before them.
  const two = await cost({ by: 'time', since: clock.time - 2 * DAY, compare: true })
  assert.deepEqual([two.step, two.total.steps, two.compared], [HOUR, 3, undefined])
  const one = await cost({ by: 'time', since: clock.time - DAY + HOUR, compare: true })
  assert.equal(one.compared?.before.total.inputTokens, 14)
})

test('a short time is compared up to now, with as many whole 5 minutes before it', async (t) => {
  const { clock, ledger, cost } = await make(t)
  const use = (time: number, inputTokens: number) => {
    clock.time = time
    return ledger.add({ model: 'm', skill: 's', sender: 'ada', inputTokens, outputTokens: 0 })
  }
  const noon = clock.time
  await use(noon + 1 * MINUTE, 1)
  await use(noon + 6 * MINUTE, 20)
  await use(noon + 26 * MINUTE, 300)
  await use(noon + 42 * MINUTE, 4000)
  const compared = async (time: number, age: number) => {
    clock.time = time
    const { total, ...found } = await cost({ by: 'time', since: time - age, compare: true })
    assert.deepEqual(found.compared?.total, total, 'the shown total is compared')
    const { from, to, before } = found.compared ?? {}
    return [from, to, before?.from, before?.to, before?.total.inputTokens].map((each) =>
      typeof each === 'string' ? each.slice(11, 16) : each,
    )
  }
  // 18 minutes: the 20 before them are nearer than 15.
  assert.deepEqual(await compared(noon + 43 * MINUTE, 15 * MINUTE), ['12:25', '12:43', '12:05', '12:25', 20])
  assert.deepEqual(await compared(noon + 41 * MINUTE, 15 * MINUTE), ['12:25', '12:41', '12:10', '12:25', 0])
  assert.deepEqual((await compared(noon + 45 * MINUTE, 0)).slice(2, 4), ['12:40', '12:45'])
})

test('the cost of a time is split into five names and the others, also by the gateway of its senders', async (t) => {
  const { ledger, cost } = await make(t)
  const senders = ['chat:ada', 'chat/unverified', 'shop:1', 'code schedule:night', 'cli', 'token:ci']
  for (const [at, sender] of senders.entries())
    await ledger.add({ model: 'm', skill: `s${at}`, sender, inputTokens: 10 * (at + 1), outputTokens: 0 })
  const gateways = await cost({ by: 'gateway' })
  assert.deepEqual(
    gateways.rows.map(({ name, inputTokens }) => [name, inputTokens]),
    [
      ['(no gateway)', 150],
      ['chat', 30],
      ['shop', 30],
    ],
  )
  assert.equal((await cost({ by: 'sender', gateway: 'chat' })).rows.length, 2)
  const { split, rows } = await cost({ by: 'time', split: 'skill' })
  assert.deepEqual(split, { by: 'skill', names: ['s5', 's4', 's3', 's2', 's1', '(others)'] })
  assert.deepEqual(
    rows[0]?.parts?.map(({ name, inputTokens }) => [name, inputTokens]),
    [
      ['s5', 60],
      ['s4', 50],
      ['s3', 40],
      ['s2', 30],
      ['s1', 20],
      ['(others)', 10],
    ],
  )
})

test('usage whose slots are not kept for two days is shown by days, and is not compared', async (t) => {
  const { clock, ledger, cost, kv } = await make(t)
  const step = { model: 'm', skill: 's', sender: 'ada', inputTokens: 1, outputTokens: 1 }
  await ledger.add(step)
  clock.time += DAY + HOUR
  await ledger.add(step)
  const recent = async (age: number) => cost({ by: 'time', since: clock.time - age, compare: true })
  assert.deepEqual((await recent(2 * DAY)).step, HOUR)
  assert.equal((await recent(DAY)).compared?.before.total.steps, 1)
  await kv.delete('usage-cost-slot:2026-01-01T12:00Z')
  // Also if the day before yesterday is only in part within two days.
  clock.time += DAY - 5 * HOUR
  const { step: length, total } = await recent(2 * DAY - HOUR)
  assert.deepEqual([length, total.steps], [DAY, 2])
  assert.equal((await recent(DAY)).compared, undefined)
})

test('what was used in the last hour and day is exact to five minutes, in total and by skill', async (t) => {
  const { clock, ledger, now } = await make(t)
  clock.time = Date.UTC(2026, 0, 1, 12, 2)
  const spend = (skill: string, money: number) =>
    ledger.add({ model: 'm', skill, sender: 'ada', inputTokens: 100, outputTokens: 0, money })
  for (const [skill, hours, money] of [
    ['desk', 30, 1],
    ['desk', 5, 0.25],
    ['chat', 0.5, 0.125],
    ['desk', 0.5, 0.5],
  ] as const) {
    const before = clock.time
    clock.time -= hours * HOUR
    await spend(skill, money)
    clock.time = before
  }
  const recent = createRecentUse({ ledger, now })
  const all = await recent()
  assert.deepEqual(all?.day, { ms: DAY + 2 * MINUTE, tokens: 300, money: 0.875 })
  assert.deepEqual(all?.hour, { ms: HOUR + 2 * MINUTE, tokens: 200, money: 0.625 })
  assert.equal((await recent('desk'))?.day.money, 0.75)
  clock.time += 3 * HOUR
  assert.equal((await recent())?.hour.money, 0)
})

test('the cost by skill has the runs of the same time, if they are counted for it', async (t) => {
  const { clock, now, ledger, runs, cost } = await make(t)
  const ask = withRuns({ cost, runs, now })
  const rowsOf = async (more: object) => {
    const { rows } = await ask({ by: 'skill', ...more })
    return rows.map((row) => [row.name, row.money, row.runs])
  }
  const use = { model: 'm', sender: 'ada', inputTokens: 10, outputTokens: 0, money: 1 }
  for (const day of [0, 1, 2]) {
    clock.time = Date.UTC(2026, 0, 1 + day, 12)
    await ledger.add({ ...use, skill: 'desk' })
    // Another run waits for an approval: it has cost something, and has not ended.
    const ofRun = { inputTokens: 5, outputTokens: 0, money: 0.25, unpriced: 0 }
    for (let run = 0; run < 2; run += 1) runs.add('desk', { at: clock.time, ms: 5, by: 'cli', cost: ofRun })
  }
  runs.add('echo', { at: clock.time, ms: 5, by: 'cli' })
  assert.deepEqual(await rowsOf({}), [['desk', 3, 6]])
  assert.deepEqual(await rowsOf({ since: clock.time - HOUR }), [['desk', 1, 2]])
  assert.deepEqual(await rowsOf({ since: clock.time - HOUR, sender: 'ada' }), [['desk', 1, undefined]])
  // Runs are not counted for so long, and those of two days only by day.
  assert.deepEqual(await rowsOf({ since: clock.time - 30 * DAY }), [['desk', 3, undefined]])
  const byModel = await ask({ by: 'model' })
  assert.equal(byModel.rows[0]?.runs, undefined)
  const printed = String(printers.cost?.(toJson(await ask({ by: 'skill' })), {}))
  assert.match(printed, /^skill .* cost +runs +cost of a run$/m)
  assert.match(printed, /^desk +30 +0 +3 +3\.00 +6 +0\.25$/m)
  assert.match(costCsv(await ask({ by: 'skill' })), /^skill,.*,currency,runs\r\ndesk,30,0,3,3,,,6/)
})

test('the errors of an hour add up to its failed runs, whichever part of a slot it begins and ends in', async (t) => {
  const { clock, runs, skillUsage } = await make(t)
  const start = clock.time
  for (const minute of [1, 4, 58, 62, 64]) {
    const error = { code: 'skill_failed', error: 'no paper' }
    runs.add('label', { at: start + minute * MINUTE, ms: 1, by: 'route labels', ...error })
  }
  const range = { name: 'label', since: start + 3 * MINUTE, until: start + 63 * MINUTE, limit: 30 }
  clock.time = start + 90 * MINUTE
  const call = callFrom()
  const { failed, errors, recent, days } = Object(toJson(await skillUsage(range, call)))
  assert.deepEqual([failed, errors[0].count, recent.length], [5, 5, 5])
  clock.time = start + 3 * DAY
  const inDays = { ...range, since: start + 2 * MINUTE, until: start + 20 * MINUTE }
  const ofDay = Object(toJson(await skillUsage(inDays, call)))
  assert.deepEqual([ofDay.failed, ofDay.errors[0].count, days.length], [5, 5, 1])
})
