import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { objectsIn } from '../../src/core/json.ts'
import { humanMessages } from '../../src/engine/print/messages.ts'
import { wholeText } from '../../src/lib/printed.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
routes:
  - { name: dead, match: { text: "*dead*" }, skill: fail, retry: { attempts: 1 } }
  - { name: again, match: { text: "*again*" }, skill: fail, retry: { attempts: 2, delay: 10m } }
  - { name: rest, skill: echo }
`
const SKILLS = {
  fail: `export default { description: 'fails', run({ message }) { throw new Error('the bank refuses ' + message.data.body.text) } }`,
}

describe('errors in message list', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: SKILLS })
  const daemon = await site.start()
  const list = async (...args: string[]) => (await site.run(['message', 'list', ...args])).out

  test('in a pipe, a column has the whole error, and the outcome the time of the next attempt', async () => {
    for (const text of ['dead 1', 'again 2', 'fine 3']) await daemon.post('/shop', JSON.stringify({ text }))
    const outcomes = async () =>
      objectsIn(JSON.parse(await list('--json')).messages).map((one) => one.outcome)
    await until(async () => `${await outcomes()}` === 'done,retrying,dead', 'the outcomes')
    const [head = '', ...rows] = (await list()).trimEnd().split('\n')
    assert.deepEqual(head.split('\t').slice(-2), ['text', 'error'])
    const [done, retrying, dead] = rows.map((row) => row.split('\t'))
    assert.equal(done?.at(-1), '')
    assert.equal(retrying?.at(-1), 'the bank refuses again 2')
    assert.match(String(retrying), /,retrying at 20\d\d-\d\d-\d\dT[\d:.]+Z,/)
    assert.equal(dead?.at(-1), 'the bank refuses dead 1')
  })

  test('with --json, each message has its last attempt', async () => {
    const [done, retrying, dead] = objectsIn(JSON.parse(await list('--json')).messages).map(({ attempt }) =>
      Object(attempt),
    )
    assert.deepEqual([done.route, retrying.route, dead.route], ['rest', 'again', 'dead'])
    assert.equal(done.error, undefined)
    assert.match(retrying.error, /the bank refuses again 2/)
    assert.ok(retrying.nextAt > Date.now())
    assert.match(dead.error, /the bank refuses dead 1/)
  })
})

/** What a terminal of this width shows. */
function shown(messages: object[], width: number): string {
  const { columns } = process.stdout
  process.stdout.columns = width
  try {
    return wholeText(humanMessages(JSON.parse(JSON.stringify({ messages }))))
  } finally {
    process.stdout.columns = columns
  }
}

const message = {
  id: 'b08462fb',
  at: Date.now() - 60_000,
  gateway: 'storefront',
  from: { id: 'zoe.van.dijk@mail.example' },
  summary: 'order: 46364 · total: 168.50',
}
const error = 'Skill ship failed: the carrier takes no parcel for order 46364: it has no street'
const failing = [
  { ...message, outcome: 'dead', attempt: { route: 'orders', error } },
  { ...message, outcome: 'retrying', attempt: { route: 'orders', error, nextAt: Date.now() + 420_500 } },
]

test('at a terminal, the error is cut last, and the time of the next attempt never', () => {
  for (const [width, part] of [
    [80, 'the carrier takes no parcel'],
    [100, 'the carrier takes no parcel'],
    [160, 'the carrier takes no parcel for order 46364: it has no street'],
  ] as const) {
    const lines = shown(failing, width).split('\n')
    assert.ok(lines.every((line) => line.length <= width))
    assert.equal(lines.filter((line) => line.includes(part)).length, 2, `at ${width} columns`)
    assert.match(lines[2] ?? '', / retrying in 7 min /)
  }
})

test('at a terminal, a list without failures has no column for errors', () => {
  const fine = [{ ...message, outcome: 'done', attempt: { route: 'orders' } }]
  assert.doesNotMatch(shown(fine, 160), /error/)
})

test('a reply that is not sent has its reason, and when it is sent again', () => {
  const attempt = { route: 'orders', unsent: 'connection refused', nextAt: Date.now() + 420_500 }
  assert.match(
    shown([{ ...message, outcome: 'replying', attempt }], 160),
    /replying in 7 min.*connection refused/,
  )
  assert.match(shown([{ ...message, outcome: 'bounced', attempt }], 160), /bounced.*connection refused/)
  assert.doesNotMatch(shown([{ ...message, outcome: 'done', attempt }], 160), /connection refused/)
})
