import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { humanResult } from '../../src/cli/skill-output.ts'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { wholeText } from '../../src/lib/printed.ts'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'

const now = Date.now()
const BEGINNING = '1970-01-01T00:00:00.000Z'
const show = (skill: string, result: Json, args: JsonObject = {}) =>
  wholeText(humanResult(skill, result, args, true))

const DONE = { id: 'j1', state: 'done', startedAt: now - 60_000, endedAt: now, by: 'ann', done: 9, total: 9 }
const REPLAY = {
  ...DONE,
  kind: 'replay',
  target: { topic: 'gateway-message', group: 'crm', subscription: 'crm' },
  result: { events: 9, unread: 0 },
}

test('a range that starts with everything is from the beginning, in jobs and in the audit log', () => {
  const all = { ...REPLAY, target: { ...REPLAY.target, since: BEGINNING } }
  assert.match(show('job-show', all), /replay gateway-message to push crm, from the beginning$/m)
  const until = { ...all, target: { ...all.target, until: '2026-11-28T14:00:00.000Z' } }
  assert.match(show('job-list', [until]), /\t→ crm: replay from the beginning to 2026-11-28 14:00 UTC\t/)
  const entry = { id: 'a1', at: now, by: 'ann', via: 'cli', action: 'subscription-replay', status: 'done' }
  for (const since of [BEGINNING, 0]) {
    const entries = [{ ...entry, outcome: 'ok', target: { name: 'crm', since } }]
    assert.match(show('audit-list', { entries }), /\tname crm, since the beginning$/)
    assert.match(show('audit-list', { entries }, { id: 'a1' }), /^since +the beginning$/m)
  }
})

test('a cancelled retry says once how to go on, and its own progress does not count', () => {
  const retry = {
    ...{ ...DONE, kind: 'dead-letters', state: 'cancelled', done: 5, total: 5 },
    target: { do: 'retry', group: 'orders' },
    outcomes: { withdrawn: 4, dead: 1 },
    result: { count: 5, withdrawn: 4 },
  }
  const shown = show('job-show', retry)
  assert.equal(shown.split('retries them again.').length, 2, shown)
  assert.doesNotMatch(shown, /5 of 5|^progress/m)
  assert.match(show('job-list', [retry]), /\tcancelled\t\t.*\t1 failed again, 4 dead letters again$/m)
  const pending = show('job-cancel', { ...retry, withdrawing: true, outcomes: { withdrawn: 4, running: 1 } })
  assert.match(pending, /: cancelling; 4 are dead letters again, 1 is running, and not tried again\./)
})

test('a cancelled job says what it did, what it did not do, and how to finish', () => {
  const cancelled = { ...DONE, state: 'cancelled', done: 2, total: 4 }
  const erasure = {
    ...cancelled,
    kind: 'person-erase',
    target: {},
    result: { counts: { jobs: 3 }, kinds: {}, open: {}, records: 3, left: ['records', 'messages'] },
  }
  const erased = show('job-show', erasure)
  assert.match(erased, /^result +3 records erased$/m)
  assert.match(erased, /^jobs +3$/m)
  assert.match(erased, /2 of 4 places were not searched completely: records, messages\. To finish, erase/)
  const nothing = show('job-show', { ...erasure, result: { counts: {}, records: 0, left: ['jobs'] } })
  assert.match(nothing, /Nothing was erased yet\./)
  assert.doesNotMatch(nothing, /No records/)
  const retry = { ...cancelled, kind: 'dead-letters', target: { do: 'retry', group: 'orders' } }
  const retried = show('job-show', { ...retry, result: { count: 2 } })
  assert.match(retried, /^result +2 dead letters retried$/m)
  assert.match(retried, /2 of 4 dead letters were not retried, and stay dead letters\./)
  assert.match(retried, /`trivium dead-letter bulk --do retry --route orders` goes on\./)
  const { target } = REPLAY
  const replay = { ...cancelled, kind: 'replay', target: { ...target, since: BEGINNING } }
  const replayed = show('job-show', { ...replay, result: { events: 2, unread: 0, lastEvent: 'e2' } })
  assert.match(replayed, /The job did not get to 2 of 4 events of the range\./)
  assert.match(replayed, /`trivium subscription replay crm --from e2` replays the rest\. It begins with/)
})

test('the list of jobs cuts the author and the result only if they take much of the terminal', (t) => {
  const { columns, isTTY } = process.stdout
  t.after(() => Object.assign(process.stdout, { columns, isTTY }))
  Object.assign(process.stdout, { columns: 140, isTTY: true })
  const job = {
    ...DONE,
    by: 'control-token:ingrid.aune@example.com',
    kind: 'dead-letters',
    target: { do: 'retry', group: 'orders', pattern: 'warehouse: no stock of the article '.repeat(4) },
    result: { count: 40 },
    outcomes: { done: 21, dead: 8, erased: 11, waiting: 2 },
  }
  const [, row = ''] = stripVTControlCharacters(show('job-list', [job])).split('\n')
  assert.match(row, / ingrid\.aune@example\.com$/)
  assert.match(row, / retrying +8 failed again, 21 done, 11 erased since, 2 waiting {2}/)
  assert.ok(row.length <= 140, row)
})

const routesWith = (url: string) => `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, from: data.body.email }
subscriptions:
  - { name: crm, topic: gateway-message, url: "${url}", allow-private: true, secret: whsec_${'c2VjcmV0'.repeat(5)}, retry: { delay: 1h, max-delay: 1h } }
routes: [{ name: orders, match: { gateway: shop }, skill: broken, retry: { attempts: 1 }, reply: none }]
`

describe('trivium job', { timeout: 300_000 }, async () => {
  const receiver = { pushes: 0, status: 200 }
  const { url } = await serveHttp(async (request, response) => {
    await request.toArray()
    receiver.pushes++
    response.writeHead(receiver.status).end('the disk is full')
  })
  const site = openSite({
    routes: routesWith(url),
    skills: { broken: "export default { description: 'fails', run() { throw new Error('no stock') } }" },
  })
  const daemon = await site.start()
  for (const n of [1, 2, 3])
    await daemon.post('/shop', JSON.stringify({ text: `order ${n}`, email: `p${n}@example.com` }))
  const letters = async () => Object(await daemon.invoke('dead-letter-list', {})).length
  await until(async () => (await letters()) === 3, 'the dead letters')
  await until(() => receiver.pushes === 3, 'the pushes')
  const shown = async (id: string) => JSON.parse((await site.run(['job', 'show', id, '--json'])).out)

  /** The ids of the jobs that `job list` finds by a state. */
  const idsIn = async (state: string) =>
    JSON.parse((await site.run(['job', 'list', '--state', state, '--json'])).out).map(
      ({ id }: { id: string }) => id,
    )

  test('refuses a kind that does not exist', async () => {
    const { code, err } = await site.run(['job', 'list', '--kind', 'retry'])
    assert.equal(code, 2)
    assert.match(err, /--kind: expected one of .*person-erase; did you mean "dead-letters"\? See/)
  })

  test('job wait names the command that follows a job', async () => {
    const { code, err } = await site.run(['job', 'wait', 'dead-letters-1'])
    assert.equal(code, 2)
    assert.match(err, /`trivium job show dead-letters-1 --follow`/)
  })

  test('shows what retried messages wait for, and names them', async () => {
    await daemon.invoke('skill-pause', { skill: 'broken', reason: 'the shelf moves' })
    const { job } = Object(await daemon.invoke('dead-letter-bulk', { do: 'retry', group: 'orders' }))
    await until(async () => (await letters()) === 0, 'the end of the job')
    const { out } = await site.run(['job', 'show', job.id])
    assert.match(
      out,
      /^waits for +skill broken, paused by control token since .* until it is resumed: the shelf moves$/m,
    )
    assert.match(out, /^3\twaiting\t\tskill broken is paused\t\S+\tp1@example\.com: order 1/m)
    assert.match(out, /`trivium skill resume broken` ends the pause\./)
    const found = await shown(job.id)
    assert.equal(found.state, 'done')
    assert.equal(found.delivering, true)
    assert.deepEqual(found.waitsFor.map(Object.keys), [['kind', 'name', 'since', 'by', 'reason']])
    assert.equal(found.messages.length, 3)
    assert.deepEqual(await idsIn('retrying'), [job.id])
    const { job: newer } = Object(await daemon.invoke('dead-letter-bulk', { do: 'retry', group: 'nothing' }))
    await until(async () => (await shown(newer.id)).state === 'done', 'the end of a retry of nothing')
    const listed = Object(await daemon.invoke('job-list', {})).map(({ id }: { id: string }) => id)
    assert.deepEqual(listed.slice(0, 2), [job.id, newer.id], 'what waits comes first')
    assert.deepEqual([await idsIn('delivering'), await idsIn('with-failures')], [[], []])
    const following = site.run(['job', 'show', job.id, '--follow', '--json'])
    await daemon.invoke('skill-resume', { skill: 'broken' })
    const followed = await following
    assert.equal(followed.code, 1)
    assert.deepEqual(JSON.parse(followed.out).outcomes, { dead: 3 })
    await until(async () => (await letters()) === 3, 'the dead letters again')
    const again = await site.run(['job', 'show', job.id])
    assert.match(again.out, /^result +3 dead letters retried: 3 failed again$/m)
    assert.match((await site.run(['job', 'list'])).out, /\tretry orders\t3 failed again \(no stock\)\n/)
    assert.match(again.out, /^3\tfailed again\t\tno stock\t\S+\tp\d@example\.com: order \d/m)
    assert.match(again.out, /`trivium dead-letter retry --all --job [^`]+` retries them again/)
    assert.match(again.out, /`trivium dead-letter list --job [^`]+` lists those that failed again/)
    assert.equal('delivering' in (await shown(job.id)), false)
    assert.deepEqual([await idsIn('with-failures'), await idsIn('failed')], [[job.id], [job.id]])
    assert.equal((await idsIn('done')).includes(job.id), false)
  })

  test('retries what a job left, as another job', async () => {
    const { job: first } = Object(await daemon.invoke('dead-letter-bulk', { do: 'retry', group: 'orders' }))
    await until(async () => (await shown(first.id)).outcomes.dead === 3, 'the failures')
    const listed = await site.run(['dead-letter', 'list', '--job', first.id.slice(-8), '--json'])
    assert.equal(JSON.parse(listed.out).length, 3)
    const { code, out } = await site.run(['dead-letter', 'retry', '--all', '--job', first.id.slice(-8)])
    assert.equal(code, 1)
    assert.match(out, /^3 retried: 3 failed again\.$/m)
    const { later } = await shown(first.id)
    assert.deepEqual([later.length, later[0].do, later[0].count], [1, 'retry', 3])
    const second = await shown(later[0].job)
    assert.deepEqual([second.target.job, second.outcomes], [first.id, { dead: 3 }])
    // They now belong to the second job.
    assert.deepEqual(await daemon.invoke('dead-letter-list', { job: first.id }), [])
    assert.match(
      (await site.run(['job', 'show', second.id])).out,
      new RegExp(`retry dead letters from job ${first.id.slice(-8)}\n`),
    )
  })

  test('shows the receiver that a replay waits for, and counts until the last event was delivered', async () => {
    receiver.status = 503
    const started = await site.run(['subscription', 'replay', 'crm', '--since', 'all'])
    assert.match(
      started.out,
      /^Job \S+: 3 events handed to the push\.\n {2}→ `trivium job show \S+ --follow` waits until they are delivered\.\n/,
    )
    const [job] = Object(await daemon.invoke('job-list', { kind: 'replay' }))
    await until(() => receiver.pushes > 3, 'a push of the replay')
    const hasFailed = ({ outcome }: { outcome: string }) => outcome === 'retrying'
    await until(async () => (await shown(job.id)).messages.some(hasFailed), 'the failed attempt')
    const { out } = await site.run(['job', 'show', job.id])
    assert.match(out, /^state +delivering$/m)
    assert.deepEqual(await idsIn('delivering'), [job.id])
    assert.match(out, /^result +3 waiting; 3 events handed to the push$/m)
    assert.match(
      out,
      /^waits for +the receiver of crm fails .*answered 503: the disk is full; next attempt 20.* UTC \(in /m,
    )
    assert.match(out, /\tretrying\t20\S+Z\t.*503/)
    assert.match(out, /`trivium subscription retry crm` tries now/)
    assert.match((await site.run(['job', 'list'])).out, /\t3 waiting \(receiver fails\)$/m)
    assert.match(out, /`trivium job cancel \S+` withdraws those of its events that wait/)
    await daemon.invoke('subscription-pause', { name: 'crm', reason: 'a migration' })
    const paused = await site.run(['job', 'show', job.id])
    assert.match(paused.out, /^waits for +push crm, paused by control token .*: a migration$/m)
    receiver.status = 200
    const following = site.run(['job', 'show', job.id, '--follow'])
    await daemon.invoke('subscription-resume', { name: 'crm' })
    const followed = await following
    assert.equal(followed.code, 0)
    assert.match(followed.out, /^result +3 delivered; 3 events handed to the push$/m)
    await until(async () => (await shown(job.id)).settledAt !== undefined, 'the delivery of all events')
    const { settledAt, endedAt, outcomes } = await shown(job.id)
    assert.deepEqual(outcomes, { delivered: 3, waiting: 0, dead: 0 })
    assert.ok(settledAt > endedAt)
    assert.match((await site.run(['job', 'show', job.id])).out, /^delivered +20\S+ \S+ UTC, after /m)
  })

  test('cancels a replay that still delivers, and says what became of its events', async () => {
    receiver.status = 503
    const { job } = Object(await daemon.invoke('subscription-replay', { name: 'crm', since: 'all' }))
    await until(async () => (await shown(job.id)).delivering, 'waiting events')
    const { out, code } = await site.run(['job', 'cancel', job.id])
    assert.equal(code, 0)
    const [, withdrawn, interrupted = 0] =
      /: cancelled; (\d+) withdrawn(?:, (\d+) (?:was|were) being sent)?\.$/m.exec(out) ?? []
    assert.equal(Number(withdrawn) + Number(interrupted), 3)
    assert.match(
      out,
      /withdrawn before the delivery\. (They|It) can still be delivered, without the others\./,
    )
    const show = await site.run(['job', 'show', job.id])
    assert.match(show.out, /^state +cancelled \S+ \S+ UTC by .+, after /m)
    const command = new RegExp(`subscription replay crm --withdrawn ${job.id}\` delivers the withdrawn`)
    assert.match(show.out, command)
    assert.equal((await site.run(['job', 'cancel', job.id])).code, 1)
    receiver.status = 200
    await daemon.invoke('subscription-retry', { name: 'crm' })
    const again = JSON.parse(
      (await site.run(['subscription', 'replay', 'crm', '--withdrawn', job.id, '--json'])).out,
    ).job.id
    const followed = await site.run(['job', 'show', again, '--follow'])
    assert.equal(followed.code, 0)
    const { target, result, outcomes, total, done } = await shown(again)
    assert.equal(target.withdrawn, job.id)
    assert.deepEqual([result.events, outcomes.delivered], [Number(withdrawn), Number(withdrawn)])
    assert.deepEqual([total, done], [Number(withdrawn), Number(withdrawn)])
    assert.match(followed.out, /replay gateway-message to push crm, withdrawn events of job /)
    const other = await site.run(['subscription', 'replay', 'crm', '--withdrawn', again])
    assert.match(other.err, /the events that job \S+ withdrew from crm are not known by id/)
  })

  test('follows a replay to a group until it is read, or withdraws what is not', async () => {
    const of = { topic: 'orders', queue: 'audit' }
    await daemon.invoke('event-subscribe', of)
    for (const data of [1, 2, 3]) await daemon.invoke('event-emit', { topic: 'orders', data })
    const read = (max: number) => daemon.invoke('event-wait', { ...of, max, timeout: 0 })
    await read(3)
    const replay = async () => {
      const { job } = Object(await daemon.invoke('event-replay', of))
      await until(async () => (await shown(job.id)).delivering, 'events to read')
      return job.id
    }
    const id = await replay()
    await read(1)
    const { out } = await site.run(['job', 'show', id])
    assert.match(out, /^state +delivering$/m)
    assert.match(out, /^result +1 of 3 read; 3 events replayed$/m)
    assert.match(out, /`trivium job cancel \S+` withdraws those of its events that are not read\./)
    const [, command = ''] = /`trivium (group show .+)` shows who reads/.exec(out) ?? []
    assert.match((await site.run(command.split(' '))).out, /audit/)
    assert.match((await site.run(['job', 'list'])).out, /\t1 of 3 read$/m)
    const following = site.run(['job', 'show', id, '--follow'])
    await read(2)
    const followed = await following
    assert.equal(followed.code, 0)
    assert.match(followed.out, /^result +all 3 read; 3 events replayed$/m)
    const other = await replay()
    await read(1)
    const cancelled = await site.run(['job', 'cancel', other])
    assert.match(cancelled.out, /: cancelled; 1 read, 2 withdrawn\.$/m)
    assert.deepEqual(await read(3), [])
    assert.match(
      (await site.run(['job', 'show', other])).out,
      /^result +1 read, 2 withdrawn; 3 events replayed$/m,
    )
  })

  test('a replay to a group that nobody reads says that it waits for a reader', async () => {
    const of = { topic: 'stock', queue: 'search-index' }
    await daemon.invoke('event-subscribe', of)
    for (const data of [1, 2]) await daemon.invoke('event-emit', { topic: 'stock', data })
    await daemon.invoke('event-seek', { ...of, to: 'now' })
    const { job } = Object(await daemon.invoke('event-replay', of))
    await until(async () => (await shown(job.id)).delivering, 'events to read')
    const { out } = await site.run(['job', 'show', job.id])
    assert.match(out, /^waits for +a reader of search-index: none since the daemon started\.$/m)
  })

  test('cancels a retry whose messages wait, which are dead letters again', async () => {
    await daemon.invoke('route-pause', { route: 'orders' })
    const { job } = Object(await daemon.invoke('dead-letter-bulk', { do: 'retry', group: 'orders' }))
    await until(async () => (await shown(job.id)).outcomes?.waiting === 3, 'waiting messages')
    const waits = await site.run(['job', 'show', job.id])
    assert.match(waits.out, /`trivium job cancel \S+` makes its messages dead letters again\./)
    const { out, code } = await site.run(['job', 'cancel', job.id])
    assert.equal(code, 0)
    assert.match(out, /: cancelled; 3 are dead letters again\.$/m)
    const show = await site.run(['job', 'show', job.id])
    assert.match(show.out, /^result +3 dead letters retried: 3 dead letters again$/m)
    assert.match(show.out, /\t?3\tdead letter again\t/)
    assert.equal(await letters(), 3)
    assert.equal((await site.run(['job', 'cancel', job.id])).code, 1)
    await daemon.invoke('route-resume', { route: 'orders' })

    const steps = await site.run(['job', 'show', job.id])
    const [, command = ''] = /`trivium (dead-letter retry --all --job \S+)` retries/.exec(steps.out) ?? []
    assert.match(steps.out, /3 messages are dead letters again, .*\s+To go on, retry them/)
    assert.match((await site.run(command.split(' '))).out, /^3 retried: 3 failed again\.$/m)
    const settled = await site.run(['job', 'show', job.id])
    assert.match(settled.out, /^since +3 dead letters again in job /m)
    assert.match(settled.out, /3 messages were dead letters again, as before the retry\. Since then: 3/)
    assert.doesNotMatch(settled.out, /To go on|goes on|retries them/)
    assert.match(
      (await site.run(['job', 'list'])).out,
      /\tcancelled\t\t.*\t3 dead letters again, 3 dead letters again in job [0-9a-f]{8}\n/,
    )
  })

  test('counts the letters of a retry that were erased since', async () => {
    const { job } = Object(await daemon.invoke('dead-letter-bulk', { do: 'retry', group: 'orders' }))
    await until(async () => (await shown(job.id)).outcomes?.dead === 3, 'the dead letters again')
    const erase = { identity: ['*:p1@example.com'], confirm: true, wait: 60_000 }
    const { job: erasure } = Object(await daemon.invoke('person-erase', erase))
    assert.equal(erasure.state, 'done')
    assert.match((await site.run(['job', 'show', job.id])).out, /: 2 failed again, 1 erased since$/m)
    const [retry] = Object(await daemon.invoke('dead-letter-retries', { job: job.id }))
    assert.deepEqual([retry.retried, retry.outcomes, retry.messages.length], [3, { dead: 2, erased: 1 }, 2])
  })

  test('a cancelled erasure keeps its numbers, also in the audit log', async () => {
    const erase = { identity: ['*:p2@example.com'], confirm: true }
    const { job } = Object(await daemon.invoke('person-erase', erase))
    await until(async () => /memory of daemons/.test((await shown(job.id)).at ?? ''), 'the end of a round')
    const { result } = Object(await daemon.invoke('job-cancel', { id: job.id }))
    assert.equal(result.counts.messages, 1)
    assert.deepEqual(result.left, [])
    const audited = async () =>
      Object(await daemon.invoke('audit-list', { action: 'person-erased' })).entries.find(
        ({ target }: { target: { job: string } }) => target.job === job.id,
      )
    const entry = await until(audited, 'the entry of the audit log')
    assert.equal(entry.outcome, 'cancelled')
    assert.equal(entry.target.records, result.records)
    assert.match(entry.result.erased, /messages 1/)
  })
})
