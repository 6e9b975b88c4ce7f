import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { screenOf } from '../../src/cli/top/screen.ts'
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

/** The lines of the screen on a terminal of this size. */
const screen = (now: object, width: number, rows: number, selection = {}) =>
  screenOf(
    { now: JSON.parse(JSON.stringify(now)), points },
    { width, rows },
    { unfolds: false, ...selection },
  ).map(stripVTControlCharacters)
const SIZES = [
  [48, 20],
  [80, 24],
  [80, 50],
  [140, 40],
] as const

test('top fills the terminal, within its width, with the keys in the last line', () => {
  for (const [width, rows] of SIZES) {
    const lines = screen(NOW, width, rows)
    assert.equal(lines.length, rows)
    assert.ok(
      lines.every((line) => line.length <= width),
      lines.join('\n'),
    )
    assert.match(lines.at(-1) ?? '', /Enter open · \? help · q quit$/)
    const text = lines.join('\n')
    assert.match(text, /^▸ ! Gateway sales does not work: the server/m)
    assert.match(text, /^ {2}! 1 dead letter: They used up/m)
    assert.match(text, /^ {2}! 2 requests wait for an approval: The/m)
    assert.match(text, /^accepted/m)
  }
})

test('top gives troubles a third of the rows, and opens the others at the fold', () => {
  const troubles = Array.from({ length: 30 }, (_, n) => trouble(`Gateway g${n} does not work`, 'down'))
  const lines = screen({ ...NOW, troubles }, 80, 24)
  assert.match(lines.join('\n'), /^ {2}… 24 more troubles: Enter shows them$/m)
  assert.match(lines.join('\n'), /^Gateways 2$/m)
  const all = screen({ ...NOW, troubles }, 80, 60, { unfolds: true })
  assert.match(all.join('\n'), /^ {2}! Gateway g29 does not work: down$/m)
})

test('top has the people who wait in its head, and the troubles in the order of the daemon', () => {
  const troubles = [
    { ...trouble('4 people wait for an answer from a person', 'The longest: Layla'), code: 'unanswered' },
    { ...trouble('2 requests wait for an approval', 'The oldest one: deploy.'), code: 'approval-waiting' },
    ...Array.from({ length: 12 }, (_, n) => trouble(`Gateway g${n} does not work`, 'down')),
  ]
  const lines = screen({ ...NOW, troubles }, 80, 24)
  assert.match(lines[0] ?? '', /UTC · 4 people wait · 2 requests to approve · 1 dead letter · /)
  const text = lines.join('\n')
  assert.match(text, /^▸ ! 4 people wait for .*\n {2}! 2 requests wait for .*\n {2}! Gateway g0 /m)
})

test('top counts the lines that do not fit, and scrolls with the selected row', () => {
  const gateways = Array.from({ length: 30 }, (_, n) => ({ name: `g${n}`, transport: 'webhook', ok: true }))
  const first = screen({ ...NOW, gateways }, 80, 24)
  const more = /^ {2}▼ (\d+) more lines$/.exec(first.at(-2) ?? '')
  assert.ok(Number(more?.[1]) > 20, first.join('\n'))
  const last = screen({ ...NOW, gateways }, 80, 24, { key: 'road outbox' })
  assert.match(last.join('\n'), /^ {2}▲ \d+ more lines$[\s\S]*^▸ outbox /m)
  const middle = screen({ ...NOW, gateways }, 80, 24, { key: 'gateway g15' })
  assert.match(middle.join('\n'), /▲ \d+ more[\s\S]*^▸ g15 [\s\S]*▼ \d+ more/m)
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
  assert.match(text, /^▸ ! Gateway sales does not work \(12 min\): down$/m)
  assert.match(text, /^ {2}· Push crm fails \(12 min, Ingrid has it\): down$/m)
  assert.match(text, /^ {2}· Route reviews is paused \(12 min\): down$/m)
})

test('top shows gateways with faults first, and paused ones as paused', () => {
  const working = Array.from({ length: 3 }, (_, n) => ({ name: `g${n}`, transport: 'webhook', ok: true }))
  const gateways = [
    ...working,
    { name: 'returns', transport: 'webhook', ok: true, paused: true },
    { name: 'sales', transport: 'email', ok: false, detail: 'down' },
  ]
  const lines = screen({ ...NOW, troubles: [], gateways }, 80, 40)
  const at = lines.indexOf('Gateways 5')
  assert.match(lines[at + 1] ?? '', /^▸ sales +email +FAILING: down$/)
  assert.match(lines[at + 2] ?? '', /^ {2}returns +webhook +paused$/)
})

test('top shows the messages of a road only if they are not those that wait or run', () => {
  const roads = [
    { road: 'journal', messages: 3000 },
    { road: 'dispatch', messages: 6, waiting: 4, running: 2, dead: 3, tests: 2 },
  ]
  const text = screen({ ...NOW, roads }, 100, 40).join('\n')
  assert.match(text, /^ {2}journal +3000 kept$/m)
  assert.match(text, /^ {2}dispatch +4 waiting, 2 running, 1 dead$/m)
})

test('the curves of top name their time and their maximum', () => {
  const end = Date.now()
  const some = Array.from({ length: 720 }, (_, n) => ({
    at: end - (719 - n) * 5_000,
    accepted: n === 9 ? 40 : 2,
  }))
  const now = { ...NOW, at: end, rates: { accepted: 2.5 } }
  const lines = screenOf({ now: JSON.parse(JSON.stringify(now)), points: some }, { width: 80, rows: 24 })
  const text = lines.map(stripVTControlCharacters).join('\n')
  assert.match(text, /^rates +now +max +last 60 min$/m)
  assert.match(text, /^accepted +2\.5\/s +40\/s {2}█/m)
})

test('a counted noun is singular for 1 only', () => {
  assert.equal(counted(0, 'message'), '0 messages')
  assert.equal(counted(1, 'message'), '1 message')
  assert.equal(counted(2, 'message'), '2 messages')
  assert.equal(counted(2, 'reply', 'replies'), '2 replies')
})

test('the roads of top have the numbers of status: not pulled, and held by pauses', () => {
  const receive = { road: 'receive', messages: 3411, waiting: 3411, leased: 0 }
  const pulled = { waiting: 26, lastAt: Date.now() - 3_000 }
  const roads = [
    { road: 'dispatch', messages: 71, waiting: 71, running: 0, dead: 0, held: 67 },
    { ...receive, pulled },
  ]
  const text = screen({ ...NOW, troubles: [], roads }, 100, 40).join('\n')
  assert.match(text, /^ {2}dispatch +71 waiting \(67 held by pauses\)$/m)
  assert.match(text, /^ {2}receive +26 not pulled \(last pull \d+ s ago\), 3411 kept$/m)
  // The daemon counts no more.
  const many = [{ road: 'dispatch', messages: 7_000, waiting: 7_000, running: 0, dead: 0, held: 1_000 }]
  const full = screen({ ...NOW, troubles: [], roads: many }, 100, 40).join('\n')
  assert.match(full, /^ {2}dispatch +7000 waiting \(1,000\+ held by pauses\)$/m)
  const unused = screen({ ...NOW, troubles: [], roads: [receive] }, 100, 40).join('\n')
  assert.match(unused, /receive +not pulled \(normal without workers\), 3411 kept$/m)
})
