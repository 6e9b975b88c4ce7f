import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { spokenName } from '../../src/cli/grammar.ts'
import { objectsIn } from '../../src/core/json.ts'
import { builtInSkills } from '../../src/daemon/built-in-skills.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  demo: { transport: webhook, path: /demo, verify: { scheme: none } }
  orders: { transport: webhook, path: /orders, verify: { scheme: none }, split: data.body.items }
subscriptions:
  - { name: crm, url: "http://127.0.0.1:9/crm", secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, allow-private: true }
schedules:
  - { name: nightly, cron: "0 3 * * *", skill: echo }
routes:
  - { name: bad, match: { gateway: orders }, skill: fail, retry: { attempts: 1 } }
  - { name: refund, match: { text: "refund*" }, skill: echo, approval: { approvers: ["cli:*"] } }
  - { name: rest, match: { gateway: cli }, skill: echo }
`
const WHY = `the address has no street, ${'and its number is missing, '.repeat(8)}the end`
const SKILLS = {
  fail: `export default { description: 'fails', run({ args }) { throw new Error(${JSON.stringify(WHY)}) } }`,
}

/** Lists that are no tables: of troubles with what to do. */
const NO_TABLES = new Set(['trouble list'])

/** The commands that list something, and need no arguments. */
function listCommands(): string[] {
  const ofSkills = builtInSkills
    .filter(({ args }) => args.safeParse({}).success)
    .map(({ name }) => spokenName(name))
    .filter((command) => command.endsWith(' list') && !NO_TABLES.has(command))
  const others = ['dead-letter groups', 'dead-letter retries', 'gateway traffic', 'skill usage']
  return [...ofSkills, 'event list gateway-message', 'skill list', 'error list', 'mcp list', ...others]
}

describe('a list in a pipe', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: SKILLS })
  const daemon = await site.start()
  const run = (line: string) => site.run(line.split(' '))

  test('has only rows, with a tab between two columns; without rows it is empty', async () => {
    const isTable = (out: string) => {
      const lines = out.split('\n').filter((line) => line !== '')
      return new Set(lines.map((line) => line.split('\t').length)).size <= 1
    }
    const empty = listCommands()
    const wrong = async (commands: readonly string[]) => {
      const results: (Awaited<ReturnType<typeof run>> & { line: string })[] = []
      // One after another: in one process, they would keep each other and the daemon waiting.
      for (const line of commands) results.push({ line, ...(await run(line)) })
      return results.filter(({ code, out }) => code !== 0 || !isTable(out))
    }
    assert.deepEqual(await wrong(empty), [])
    assert.deepEqual(await run('job list'), {
      code: 0,
      out: '',
      err: 'There are no jobs.\nWhat else runs now: `trivium run list`\n',
    })
    await daemon.post('/orders', JSON.stringify({ items: [{ at: 1 }, { at: 2 }, { at: 3 }] }))
    await daemon.post('/demo', '{"a":1}')
    await run('message cli refund 5 --wait 0')
    await run('route pause rest')
    await until(
      async () => objectsIn(JSON.parse((await run('dead-letter list --json')).out)).length === 3,
      'the dead letters',
    )
    await until(async () => (await run('approval list')).out.includes('pending'), 'the request')
    assert.deepEqual(await wrong(empty), [])
  })

  test('has its hints and how to see the rest on stderr', async () => {
    for (const [line, note] of [
      ['message list --limit 2', /Older ones: `trivium message list --limit 2 --before \S+`/],
      [
        'conversation list --all --limit 1',
        /Older ones: `trivium conversation list --all --limit 1 --before \S+`/,
      ],
      ['dead-letter list --limit 2', /The newest 2 of 3 dead letters/],
      ['pause list', /To end it: `trivium route resume rest`/],
      ['approval list', /`trivium approval show \S+` shows the request/],
      ['audit list --limit 1', /There are older entries: `trivium audit/],
      ['skill list', /`trivium skill list --all`/],
    ] as const) {
      const { out, err } = await run(line)
      assert.match(err, note, line)
      assert.doesNotMatch(out, note, line)
      const { err: noted } = await run(`${line} --json`)
      assert.doesNotMatch(noted, note, line)
    }
  })

  test('names the command that shows the rest, with the same filters', async () => {
    for (const line of [
      'message list --gateway orders --limit 1',
      'conversation list --all --limit 1',
      'person list --limit 1',
      'event list gateway-message --limit 1',
      'dead-letter list --route bad --limit 1',
      'audit list --limit 1',
    ]) {
      const first = await run(line)
      const command = /`trivium ([^`]+)`/.exec(first.err)?.[1] ?? ''
      const more = await run(command)
      assert.equal(more.code, 0, `${line}: ${command}: ${more.err}`)
      assert.ok(more.out.split('\n').length > 2 && more.out !== first.out, `${line}: ${command}: ${more.out}`)
      const filter = /--(?:gateway|route) \S+/.exec(line)?.[0] ?? ''
      assert.ok(command.includes(filter), command)
    }
  })

  test('takes words without a flag as its search', async () => {
    assert.match((await run('dead-letter list no street')).out, /no street/)
    assert.match((await run('message list no-such words')).err, /--search 'no-such words'/)
    const twice = await run('message list one --search two')
    assert.deepEqual([twice.code, /once/.test(twice.err)], [2, true])
    assert.match((await run('message list --since 2 days')).err, /duration in one word/)
  })

  test('has all times as ISO 8601', async () => {
    for (const line of [
      'schedule pause nightly --for 2h',
      'skill pause fail --for 2h',
      'gateway pause demo --for 2h',
    ])
      assert.equal((await run(line)).code, 0, line)
    await run('schedule run nightly')
    const isRead = async () => (await run('skill usage')).out.includes('fail')
    await until(isRead, 'the runs to be counted')
    const inWords = /\d (?:s|min|h|d)(?: ago(?:\t|$)|\t)|\d\d:\d\d(?::\d\d)? UTC|\d{4}-\d\d-\d\d \d\d:\d\d/m
    for (const line of listCommands()) {
      const [, ...rows] = (await run(line)).out.split('\n')
      assert.doesNotMatch(rows.join('\n'), inWords, line)
    }
    for (const line of [
      'pause list',
      'skill list',
      'schedule list',
      'gateway list',
      'skill usage',
      'audit list',
    ])
      assert.match((await run(line)).out, /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/, line)
    const usage = (await run('skill usage fail')).out
    assert.match(usage, /^3\tskill_failed\t.*\t\d{4}-\S+Z\t\d{4}-\S+Z$/m)
    assert.match(usage, /^\d{4}-\S+Z\tskill_failed\t.*\troute bad\t[0-9a-f-]{36}\t/m)
  })

  test('has whole texts', async () => {
    assert.ok((await run('dead-letter list')).out.includes(WHY))
  })
})
