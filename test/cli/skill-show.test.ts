import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { humanSkill, humanSkills } from '../../src/cli/print-skills.ts'
import { errorsOf, runsText } from '../../src/features/usage/print.ts'
import { didYouMean } from '../../src/lib/nearest.ts'
import { wholeText } from '../../src/lib/printed.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
  desk: { transport: webhook, path: /desk, verify: { scheme: none } }
routes:
  - { name: labels, match: { gateway: shop }, skill: label, retry: { attempts: 1 } }
  - { name: later, match: { gateway: cli, prefix: later }, skill: label }
  - { name: refunds, match: { gateway: desk }, skill: desk }
`
const LABEL = `export default { description: 'Prints a label.', run() { throw new Error('no paper') } }`

const DESK = `export default {
  description: 'Answers mail.',
  metadata: { 'allowed-tools': 'refund' },
  run({ manager }) { return manager.invoke('refund', {}) },
}`
const REFUND = `export default { description: 'Pays back.', metadata: { approval: true }, run() { return 'paid' } }`

describe('skill list and skill show', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { label: LABEL, desk: DESK, refund: REFUND } })
  const daemon = await site.start()
  const run = async (...args: string[]) => {
    const { code, out, err } = await site.run(args)
    assert.equal(code, 0, err)
    return out
  }
  await daemon.post('/shop', '{}')
  await until(
    async () => Object(await daemon.invoke('skill-usage', { name: 'label' })).failed === 1,
    'the run to fail',
  )
  await run('skill', 'pause', 'label', '--for', '2h', '--reason', 'no paper')

  test('show the pause, the runs, the errors and the callers of a skill', async () => {
    const shown = await run('skill', 'show', 'label')
    assert.match(shown, /Paused by \S+ since .*, until 20.* UTC: no paper\. 0 messages wait\./)
    assert.match(shown, /`trivium skill resume label` ends the pause/)
    assert.match(shown, /^last 7 days\s+1 run, 1 failed, p50 [\d.]+ (?:ms|s), p95 [\d.]+ (?:ms|s)$/m)
    assert.match(shown, /^last run\s+failed \d{4}-\S+Z$/m)
    assert.match(shown, /^called by\s+route labels \(1\), route later \(no run\)$/m)
    assert.match(shown, /^1\tskill_failed\tno paper\t\d{4}-\S+Z\t\d{4}-\S+Z$/m)
    const listed = await run('skill', 'list')
    assert.match(
      listed,
      /^label\s+paused until \S+Z by \S+: no paper\s+failed \d{4}-\S+Z\s+1\s+1 \(100\.0 %\)\s+[\d.]+ (?:ms|s)\s+route labels, route later\s+Prints/m,
    )
  })

  test('name the requests that wait for a decision, of the skill itself and of its callers', async () => {
    await daemon.post('/desk', '{}')
    const waits = async () => Object(await daemon.invoke('approval-list', { status: 'pending' })).length === 1
    await until(waits, 'the request')
    for (const line of ['skill show refund', 'skill show desk', 'route show refunds'])
      assert.match(await run(...line.split(' ')), /^1 request waits for an approval\.$/m, line)
    assert.doesNotMatch(await run('skill', 'show', 'label'), /for an approval/)
    const listed = await run('skill', 'list')
    for (const name of ['refund', 'desk'])
      assert.match(listed, new RegExp(`^${name}\\t1 waits for approval\\t`, 'm'))
    const routes = JSON.parse(await run('route', 'list', '--json'))
    const counts = routes.map(({ name, approvals }: Record<string, unknown>) => [name, approvals])
    assert.deepEqual(Object.fromEntries(counts).refunds, 1)
  })

  test('say that the pause of a skill that another one calls holds these calls, also approved ones', async () => {
    const paused = await run('skill', 'pause', 'refund')
    const effect = /Calls by skill desk wait, with their messages, and so do approved requests\./
    assert.match(paused.replaceAll(/\s+/g, ' '), effect)
    assert.match((await run('skill', 'show', 'refund')).replaceAll(/\s+/g, ' '), effect)
    const waits = /runs when skill refund is resumed/
    assert.match(await run('approval', 'list'), waits)
    const [{ id, pausedBy }] = JSON.parse(await run('approval', 'list', '--json'))
    assert.equal(pausedBy[0].kind, 'skill')
    assert.match(await run('approval', 'show', id), waits)
    assert.match(await run('approval', 'decide', id, '--approve', '--reason', 'ok'), waits)
    await run('skill', 'resume', 'refund')
  })

  test('have the same fields in JSON', async () => {
    const shown = JSON.parse(await run('skill', 'show', 'label', '--json'))
    assert.equal(shown.paused.reason, 'no paper')
    assert.deepEqual([shown.usage.runs, shown.usage.failed, shown.usage.errors.length], [1, 1, 1])
    assert.deepEqual(shown.routes, ['labels', 'later'])
    assert.deepEqual([shown.limits[0].route, shown.limits[0].retry.attempts], ['labels', 1])
    const listed = JSON.parse(await run('skill', 'list', '--json'))
    const label = listed.find((skill: { name: string }) => skill.name === 'label')
    assert.deepEqual([label.usage.failed, label.paused.kind], [1, 'skill'])
  })
})

test('failed attempts say how many messages they were at', () => {
  const usage = { runs: 381, failed: 168, failedMessages: 42, errorRate: 0.441, callers: [] }
  const listed = wholeText(humanSkills([{ name: 'confirm-order', usage }], [], false))
  assert.match(listed, /168 \(44\.1 %\) of 42 messages/)
  const errors = [{ count: 124, messages: 31, code: 'skill_failed', error: 'no such SKU', lastAt: 0 }]
  assert.match(errorsOf({ errors })[1] ?? '', /124 of 31 messages\tskill_failed/)
  assert.match(runsText(usage), /^381 runs, 168 failed \(of 42 messages\), p50/)
})

test('a list of skills at 80 columns has the whole state, the runs, their times and cost', (t) => {
  const { columns } = process.stdout
  t.after(() => {
    process.stdout.columns = columns
  })
  process.stdout.columns = 80
  const usage = {
    runs: 491,
    failed: 37,
    errorRate: 0.075,
    p95: 3,
    money: 1.6,
    lastAt: Date.now(),
    callers: [],
  }
  const paused = {
    kind: 'skill',
    name: 'pay',
    by: 'ada',
    since: 0,
    until: Date.now() + 60_000,
    reason: 'busy',
  }
  const lines = wholeText(humanSkills([{ name: 'book-payment', usage, paused }], [], false)).split('\n')
  assert.match(lines[0] ?? '', /^name\s+state\s+last run\s+runs\s+failed\s+p95\s+cost/)
  assert.match(
    lines[1] ?? '',
    /^book-payment\s+paused until \d\d:\d\d UTC +done \d+ s ago\s+491\s+37 \(7\.5 %\)/,
  )
  assert.ok(lines.every((line) => line.length <= 80))
  const held = humanSkills([{ name: 'book-payment', usage, paused: { ...paused, waiting: 5 } }], [], false)
  assert.match(wholeText(held), /^book-payment\s+paused until.*\s5\s+491\s+37 \(7\.5 %\)\s+3 ms\s+1\.60$/m)
  assert.doesNotMatch(wholeText(held), /…/)
  const waits = wholeText(humanSkills([{ name: 'book-payment', usage, approvals: 12 }], [], false))
  assert.match(waits, /^book-payment +12 wait for approval +done/m)
})

test('a running skill says since when it runs, and how to end the run of a route', () => {
  const running = [{ since: Date.UTC(2026, 10, 30, 4), by: 'route ledger', messageId: 'm1' }]
  const shown = humanSkill({ name: 'export-ledger', usage: { runs: 0, running, callers: [] } })
  assert.match(shown, /^last run +1 running since 2026-11-30T04:00:00.000Z$/m)
  assert.match(shown, /`trivium run cancel m1` ends the run\./)
  const direct = [{ since: 0, by: 'http token:worker' }]
  assert.doesNotMatch(
    humanSkill({ name: 'a', usage: { runs: 0, running: direct, callers: [] } }),
    /run cancel/,
  )
})

test('an unknown name that begins one other name suggests it', () => {
  const many = Array.from({ length: 20 }, (_, at) => `skill-number-${at}`)
  assert.equal(didYouMean('confirm', [...many, 'confirm-order']), ' Did you mean confirm-order?')
  assert.equal(didYouMean('skill', many), '')
})

test('a skill says which of its messages are tried again and when, and the limits of its attempts', () => {
  const usage = { runs: 12, failed: 12, callers: [] }
  const retried = [{ id: 'a', nextAt: Date.UTC(2026, 10, 30, 4) }, { id: 'b' }]
  const limits = [{ route: 'loyalty', timeout: 60_000, retry: { attempts: 30 } }]
  const shown = humanSkill({ name: 'sync', usage, retried, limits })
  assert.match(shown, /^tried again +2 messages, the next 2026-11-30T04:00:00.000Z$/m)
  assert.match(shown, /^attempts +up to 30, each up to 1 min$/m)
  const both = [...limits, { route: 'other', timeout: 5_000, retry: { attempts: 1 } }]
  const text = /^attempts +route loyalty: up to 30, each up to 1 min; route other: one, up to 5 s$/m
  assert.match(humanSkill({ name: 'sync', usage, limits: both }), text)
})
