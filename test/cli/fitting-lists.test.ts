import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { spokenName } from '../../src/cli/grammar.ts'
import { builtInSkills } from '../../src/daemon/built-in-skills.ts'
import { lengthOf } from '../../src/lib/paragraph.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const LONG = 'confirmation-of-orders'
const REASON = 'the provider of the labels has had an incident since this morning, and calls back'
const WHY = `the address has no street, ${'and its number is missing, '.repeat(8)}the end`
const ROUTES = `
gateways:
  demo: { transport: webhook, path: /demo, verify: { scheme: none }, from: data.body.by }
  northern-storefront: { transport: webhook, path: /northern/storefront, verify: { scheme: none } }
subscriptions:
  - { name: customer-relations-mirror, url: "http://127.0.0.1:9/crm", secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, allow-private: true }
schedules:
  - { name: ${LONG}, cron: "0 3 L * 1-5", timezone: Europe/Berlin, skill: echo }
routes:
  - { name: ${LONG}, match: { gateway: demo }, skill: fail, retry: { attempts: 1 } }
  - { name: refund, match: { text: "refund*" }, skill: echo, approval: { approvers: ["cli:*"] } }
  - { name: rest, match: { gateway: cli }, skill: echo }
`
const SKILLS = {
  fail: `export default { description: 'fails ${'very often '.repeat(12)}', run() { throw new Error(${JSON.stringify(WHY)}) } }`,
}

/** Entries with more than two lines: causes with what to do, and decisions, which are never cut. */
const TEXTS = new Set([
  'trouble list',
  'dead-letter list',
  'refusal list',
  'job list',
  'audit list',
  'route list',
])

function listCommands(): string[] {
  const ofSkills = builtInSkills
    .filter(({ args }) => args.safeParse({}).success)
    .map(({ name }) => spokenName(name))
    .filter((command) => command.endsWith(' list'))
  const others = 'dead-letter groups,dead-letter retries,gateway traffic,skill usage,person open'.split(',')
  return [
    ...ofSkills,
    'event list gateway-message',
    'skill list',
    'error list',
    'mcp list',
    'run list',
    ...others,
  ]
}

/** Runs `work` as if stdout was a terminal of this size. */
async function atSize<T>([columns, rows]: readonly [number, number], work: () => Promise<T>): Promise<T> {
  const before = { columns: process.stdout.columns, rows: process.stdout.rows, isTTY: process.stdout.isTTY }
  Object.assign(process.stdout, { columns, rows, isTTY: true })
  try {
    return await work()
  } finally {
    Object.assign(process.stdout, before)
  }
}

describe('a list at a terminal', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: SKILLS })
  const daemon = await site.start()
  const run = (line: string) => site.run(line.split(' '))
  const rowsOf = (out: string) => out.split('\n').filter((line) => line !== '')

  test('fits in its width, with at most two lines for each entry', async () => {
    for (const by of ['ursula.von-der-northern-lights@customers.example', 'bo', '山田さん@顧客.example'])
      await daemon.post(
        '/demo',
        JSON.stringify({ by, order: 4711, note: 'the lamp is broken and I want another '.repeat(4) }),
      )
    const asked = await run(`message cli refund 1240.00 EUR ${'because of the lamp '.repeat(4)}--wait 0`)
    assert.equal(asked.code, 0, asked.err)
    for (const what of [`route pause ${LONG}`, 'gateway pause demo', `schedule pause ${LONG}`])
      assert.equal((await site.run([...what.split(' '), '--for', '2d', '--reason', REASON])).code, 0, what)
    await until(async () => rowsOf((await run('dead-letter list')).out).length === 4, 'the dead letters')
    await until(async () => (await run('approval list')).out.includes('pending'), 'the request')
    const faults: string[] = []
    for (const line of listCommands()) {
      const entries = rowsOf((await run(line)).out).length - 1
      for (const size of [
        [80, 24],
        [140, 40],
      ] as const) {
        const { out, err } = await atSize(size, () => run(line))
        const name = `${line} at ${size[0]}`
        for (const row of `${out}${err}`.split('\n')) {
          // A command is copied, so it is whole, on a line of its own.
          const isCommand = /^\s*`trivium [^`]*`[.,]?$/.test(row)
          if (lengthOf(row) > size[0] && !isCommand) faults.push(`${name} is too wide: ${row}`)
        }
        const lines = rowsOf(out).filter((row) => !row.startsWith('Not shown: ')).length
        if (!TEXTS.has(line) && lines > 1 + 2 * Math.max(entries, 0))
          faults.push(`${name} has ${lines} lines for ${entries} entries:\n${out}`)
      }
    }
    assert.deepEqual(faults, [])
  })
})
