import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { screenOf } from '../../src/cli/top-screen.ts'
import { counted } from '../../src/lib/counted.ts'

const trouble = (title: string, text: string) => ({ title, text })
const road = { messages: 12_345, waiting: 4, running: 2, dead: 1, oldestAt: Date.now() - 3_600_000 }
const NOW = {
  daemon: 'host-with-a-long-name',
  store: 'embedded',
  at: Date.now(),
  rates: { accepted: 12.5, done: 12, failed: 0.5, sent: 3, refused: 0 },
  roads: ['journal', 'dispatch', 'receive', 'outbox'].map((name) => ({ road: name, ...road })),
  deadLetters: { total: 1 },
  approvals: 2,
  gateways: [
    { name: 'support', transport: 'email', ok: true },
    {
      name: 'sales',
      transport: 'email',
      ok: false,
      detail: 'the server refused the login: 535 5.7.8 Error: authentication failed',
    },
  ],
  troubles: [
    trouble(
      'Gateway sales does not work',
      'the server refused the login: 535 5.7.8 Error: authentication failed',
    ),
    trouble('Push crm fails', '7 times in a row: connect ECONNREFUSED 127.0.0.1:9.'),
    trouble('1 dead letter', 'They used up their attempts.'),
    trouble('2 requests wait for an approval', 'The oldest one: deploy.'),
  ],
  groups: [],
}
const points = Array.from({ length: 720 }, (_, n) => ({ accepted: n % 7, done: 1 }))

/** The lines that a terminal of this size shows. */
const screen = (now: object, width: number, rows: number) =>
  screenOf({ now: JSON.parse(JSON.stringify(now)), points }, { width, rows })
    .map(stripVTControlCharacters)
    .slice(0, rows)

test('top shows every fault within 48 columns and 20 rows', () => {
  for (const [width, rows] of [
    [48, 20],
    [80, 24],
    [200, 60],
  ] as const) {
    const lines = screen(NOW, width, rows)
    const faults = lines.slice(1, lines.indexOf(''))
    assert.ok(
      faults.every((line) => line.length <= width),
      lines.join('\n'),
    )
    const text = faults.join(' ').replaceAll(/\s+/g, ' ')
    assert.match(text, /! Gateway sales does not work: the server refused the login: 535/)
    assert.match(text, /! 1 dead letter/)
    assert.match(text, /! 2 requests wait for an approval/)
    assert.match(text, /! Push crm fails: 7 times in a row/)
    assert.ok(
      lines.some((line) => line.startsWith('accepted')),
      'the rates are shown as well',
    )
  }
})

test('the roads of top leave out the dead letters of test messages', () => {
  const lines = screen({ ...NOW, roads: [{ road: 'dispatch', ...road, dead: 3, tests: 2 }] }, 100, 40)
  const cells = lines.find((line) => line.startsWith('dispatch'))?.split(/ {2,}/)
  assert.equal(cells?.[4], '1')
})

test('top counts the faults that do not fit', () => {
  const troubles = Array.from({ length: 30 }, (_, n) => trouble(`Gateway g${n} does not work`, 'down'))
  const lines = screen({ ...NOW, troubles }, 48, 20)
  assert.match(
    lines.join('\n'),
    /! Gateway g0 does not work: down[\s\S]*… and 21 more: `trivium trouble list`/,
  )
  assert.ok(lines.some((line) => line.startsWith('accepted')))
})

test('top marks troubles as trouble list does, with their age and who has them', () => {
  const since = Date.now() - 12 * 60_000
  const one = { ...trouble('Gateway sales does not work', 'down'), severity: 'error', since }
  const troubles = [
    one,
    { ...one, title: 'Push crm fails', acknowledged: { at: since, by: 'control-token:Ingrid' } },
    { ...one, title: 'Route reviews is paused', severity: 'info' },
  ]
  const text = screen({ ...NOW, troubles }, 100, 40).join('\n')
  assert.match(text, /^! Gateway sales does not work \(12 min\): down$/m)
  assert.match(text, /^· Push crm fails \(12 min, Ingrid has it\): down$/m)
  assert.match(text, /^· Route reviews is paused \(12 min\): down$/m)
})

test('top counts the gateways that do not fit, and shows paused ones as paused', () => {
  const working = Array.from({ length: 9 }, (_, n) => ({ name: `g${n}`, transport: 'webhook', ok: true }))
  const gateways = [...working, { name: 'returns', transport: 'webhook', ok: true, paused: true }]
  const lines = screen({ ...NOW, troubles: [], gateways }, 80, 20)
  assert.match(lines.join('\n'), /^returns +webhook +paused$/m)
  assert.match(lines.at(-1) ?? '', /^… and 5 more/)
  assert.match(screen({ ...NOW, gateways }, 80, 60).join('\n'), /^g8 +webhook +ok$/m)
})

test('a counted noun is singular for 1 only', () => {
  assert.equal(counted(0, 'message'), '0 messages')
  assert.equal(counted(1, 'message'), '1 message')
  assert.equal(counted(2, 'message'), '2 messages')
  assert.equal(counted(2, 'reply', 'replies'), '2 replies')
})
