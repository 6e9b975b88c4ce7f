import assert from 'node:assert/strict'
import { test } from 'node:test'
import { humanResult } from '../../src/cli/skill-output.ts'
import type { Json } from '../../src/core/json.ts'
import { withoutRepeated } from '../../src/engine/print/letter-causes.ts'
import { NOT_SHOWN } from '../../src/lib/line-table.ts'
import { wholeText } from '../../src/lib/printed.ts'

const HOUR = 3_600_000
const now = Date.now()

/** The lines of a list in a terminal, without the note about left out columns. */
function linesAt(width: number, skill: string, result: Json): string[] {
  const { columns } = process.stdout
  process.stdout.columns = width
  const lines = wholeText(humanResult(skill, result, {}, true)).split('\n')
  // A test may call this several times, and other files share the process.
  process.stdout.columns = columns
  assert.ok(
    lines.every((line) => line.length <= width),
    lines.join('\n'),
  )
  return lines.filter((line) => !line.startsWith(NOT_SHOWN))
}

const WHY = 'Refund 1240.00 EUR · order 4890 · the order was a mistake of my son'
const request = (id: string, hours: number, status: string) => ({
  id,
  requestedAt: now - hours * HOUR,
  status,
  title: WHY,
  by: { id: 'support:ada.lovelace@mail.example' },
  skill: 'refund',
  args: { order: '4890' },
  ...(status !== 'pending' && {
    decidedBy: 'oidc:Tomas Berg',
    decidedAt: now - (hours - 1) * HOUR,
    reason: 'outside the 60 days, and used',
  }),
})

test('approvals show why they are asked for and decided; pending ones first, then those decided last, then expired ones', () => {
  const requests = [
    request('old', 50, 'denied'),
    request('new', 30, 'approved'),
    request('gone', 1, 'expired'),
    request('open', 2, 'pending'),
  ]
  for (const width of [80, 140]) {
    const lines = linesAt(width, 'approval-list', requests)
    const text = lines.join(' ').replaceAll(/\s+/g, ' ')
    for (const word of `${WHY} Tomas Berg outside days, used`.split(' '))
      assert.ok(text.includes(word), `${width}: ${word}`)
    const order = lines.filter((line) => /^(old|new|open|gone)/.test(line)).map((line) => line.split(' ')[0])
    assert.deepEqual(order, ['open', 'new', 'old', 'gone'])
  }
})

test('a wider terminal shows no less of approvals: who asks and the whole title at each width', () => {
  const requests = [request('open', 2, 'pending'), request('old', 50, 'denied')]
  for (const width of [80, 110, 140, 200, 300]) {
    const text = linesAt(width, 'approval-list', requests).join('\n')
    for (const part of [WHY, 'refund', 'by Tomas Berg', 'used'])
      assert.ok(text.includes(part), `${width}: ${text}`)
  }
})

test('each conversation has one line at 80 columns, with its sender, state and newest text', () => {
  const row = (conversation: string, more: object) => ({
    gateway: 'support',
    messages: 1,
    at: now,
    from: { id: 'u1', address: 'ingvild.koval@mail.example' },
    conversation,
    subject: 'Re: Third mail: my order 4655 is still missing',
    outcome: 'done',
    ...more,
  })
  const conversations = [
    row('slack:T0NORDLYS:C0OLDHALL:1795955865.002730', {
      waitingSince: now - 5 * HOUR,
      undelivered: { at: now },
    }),
    row('mail-petra', { waitingSince: now - HOUR, heldBy: { by: 'control-token:Ingrid Aune' } }),
    row('01a2274f-b879-7000-8003-77df4cd08eb1', {}),
  ]
  const lines = linesAt(80, 'conversation-list', { conversations })
  assert.equal(lines.length, 4, lines.join('\n'))
  assert.match(lines[1] ?? '', /^5 h +ingvild\S+ +not delivered +Re: Third mail: .*….* +….*5865\.002730$/)
})

test('in a narrow terminal the errors of gateways are below their rows, and others have one line', () => {
  const detail = 'INBOX cannot be read: Command failed: Password expired on 2026-11-29, please set a new one'
  const traffic = { lastAt: now, perMinute: 2, refused: 106, errorShare: 1 }
  const gateways = [
    {
      name: 'shop',
      transport: 'webhook',
      ok: true,
      detail: '/hooks/shop',
      traffic: { ...traffic, refused: 0 },
    },
    { name: 'payments', transport: 'webhook', ok: true, refuses: 'every delivery', traffic },
    { name: 'wholesale', transport: 'email', ok: false, detail, traffic: { ...traffic, refused: 0 } },
  ]
  const lines = linesAt(80, 'gateway-list', gateways)
  const [head, failing, ...others] = lines
  assert.match(head ?? '', /^gateway .* refused in 1 h +state$/)
  assert.match(failing ?? '', /^wholesale .* FAILING$/)
  assert.equal(
    others
      .slice(0, 2)
      .map((line) => line.trim())
      .join(' '),
    detail,
  )
  assert.match(
    others.slice(2).join('\n'),
    /^payments .* 106 \(100.0 %\) +refuses every delivery\nshop .* ok: \/hooks\/shop$/,
  )
})

test('a summary leaves out what the columns beside it have', () => {
  const text = '#5031 · total_price: 334.90 · email: ada@mail.example'
  assert.equal(withoutRepeated(text, ['#5031', 'ada@mail.example']), 'total_price: 334.90')
  assert.equal(withoutRepeated('#5031', ['#5031', '']), '#5031')
})

test('a list of messages with few errors shows them below their rows, and the texts at 80 columns', () => {
  const message = (id: string, more: object = {}) => ({
    ...{ id, at: now - HOUR, gateway: 'support', outcome: 'done' },
    ...{ from: { id: 'ada.lovelace@mail.example' }, subject: `Where is order 4711${id}?` },
    ...more,
  })
  const error = 'the carrier answered 500 Internal Server Error for order 47114'
  const failed = message('4', { outcome: 'dead', attempt: { route: 'orders', what: 'dead', error } })
  const some = [message('1'), message('2'), message('3'), failed] as Json
  for (const width of [80, 140]) {
    const lines = linesAt(width, 'message-list', some)
    assert.equal(lines.length, 6, lines.join('\n'))
    for (const id of ['1', '2', '3', '4'])
      assert.match(lines[Number(id)] ?? '', new RegExp(`order 4711${id}\\?`))
    assert.equal(lines[5], `  ${error}`)
  }
  // If most have an error, each message is on one line.
  assert.equal(linesAt(140, 'message-list', [failed, message('1')].slice(0, 1) as Json).length, 2)
})

test('a list of conversations has the answers, and one longer than the screen says how many wait', () => {
  const row = (conversation: string, more: object) => ({
    ...{ gateway: 'support', messages: 1, conversation, at: now - HOUR, text: 'Where is my lamp?' },
    ...{ from: { id: 'ada@mail.example' }, outcome: 'done', ...more },
  })
  const answered = { reply: { at: now, text: 'On its way.', by: 'oidc:Tomas Berg' } }
  const conversations = [
    row('w', { waitingSince: now - HOUR }),
    ...Array.from({ length: 9 }, (_, at) => row(`c${at}`, answered)),
  ]
  const { rows } = process.stdout
  const endAt = (height: number) => {
    process.stdout.rows = height
    return linesAt(140, 'conversation-list', { conversations } as Json)
  }
  const long = endAt(10)
  const short = endAt(24)
  process.stdout.rows = rows
  assert.match(short[2] ?? '', /^\d+ s .*Tomas Berg: On its way\./)
  assert.equal(short.length, 11)
  assert.equal(long.at(-1), '1 waits, at the top: `trivium conversation list --unanswered`')
})

test('a request has one line, in which nothing is said twice, and a long list says how many wait', () => {
  const requests = ['open', 'old'].map((id, at) => ({
    ...request(id, 3 + at, at === 0 ? 'pending' : 'denied'),
    title: 'Refund 89.90 EUR · order 46846',
    args: { order: '46846', amount: '89.90 EUR' },
  }))
  const { rows } = process.stdout
  process.stdout.rows = 4
  const lines = [80, 140].map((width) => linesAt(width, 'approval-list', requests))
  process.stdout.rows = rows
  for (const [head = '', open = '', old = '', ...others] of lines) {
    assert.doesNotMatch(head, /arguments/)
    assert.match(open, /^open .*Refund 89\.90 EUR · order 46846 +pending/)
    assert.equal(open.split('46846').length, 2)
    const decided = `${old} ${others[0]}`
    assert.match(decided, /^old .*denied.*by Tomas Berg 3 h( \d+ min)? ago:? +outside the 60 days, and used/)
    assert.ok(others.includes('1 waits, at the top: `trivium approval list --status pending`'))
  }
})

test('a pending request has its time left, and a decision names who decided apart from who asked', () => {
  const timed = { expiresAt: now + 7.5 * HOUR, onTimeout: 'deny' }
  const requests = [
    { ...request('open', 2, 'pending'), ...timed, title: 'Refund 1240.00 EUR · order 46843' },
    { ...request('soon', 1, 'pending'), ...timed, title: 'Refund 5', onTimeout: 'approve' },
    request('old', 8, 'denied'),
  ]
  for (const width of [80, 140]) {
    const text = linesAt(width, 'approval-list', requests).join('\n')
    assert.match(text, /^open .* pending +7 h( \d+ min)?( |$)/m)
    assert.match(text, /^soon .* pending +7 h( \d+ min)?, then approved( |$)/m)
    assert.match(text, /^ +denied by Tomas Berg 7 h( \d+ min)? ago: outside the 60 days/m)
    assert.match(text, /^When no time is left, a request is denied automatically\.$/m)
  }
  const one = { ...request('12345678', 2, 'pending'), title: 'Refund 1240.00 EUR · order 46843' }
  const [head = ''] = linesAt(80, 'approval-list', [{ ...one, ...timed, by: 'support:ada@mail.example' }])
  assert.match(head, /status +left +asked by/)
})

test('the audit log says what was decided once, the title first and the reason last', () => {
  const decided = {
    ...{ id: 'a1b2c3d4', at: now, by: 'oidc:Tomas Berg', via: 'cli', status: 'done', outcome: 'ok' },
    ...{ action: 'approval-decide', target: { id: 'r1', status: 'denied', skill: 'refund' } },
    ...{
      about: { from: { name: '田中 美咲' }, subject: 'Refund for order 46846' },
      reason: 'over the limit',
    },
  }
  const refused = {
    ...{ id: 'b1b2c3d4', at: now, by: 'oidc:Bob', via: 'cli', status: 'denied', outcome: 'forbidden' },
    ...{ action: 'skill-resume', target: { skill: 'summarise' } },
    error: 'Skill skill-resume for oidc:Bob is not allowed: viewers cannot change anything; `roles:` can',
  }
  const log = { entries: [decided, refused], titles: { r1: 'Refund 89.90 EUR · order 46846' } } as Json
  for (const width of [80, 140]) {
    const text = linesAt(width, 'audit-list', log).join(' ').replaceAll(/\s+/g, ' ')
    assert.ok(text.includes('Refund 89.90 EUR · order 46846, 田中 美咲; reason: over the limit'), text)
    assert.ok(text.includes('a skill: summarise; not allowed: viewers cannot change anything'), text)
    assert.ok(!text.includes('is not allowed:'), text)
  }
})

test('the list of people has their names and whole addresses at 80 columns', () => {
  const person = (id: string, name: string) => ({
    ...{ identity: `*:${id}`, id, name, gateways: ['shop', 'support', 'payments'] },
    ...{ messages: 14, wrote: 12, newest: { at: now - HOUR }, newestText: { at: now - HOUR } },
    open: [
      { kind: 'approval', state: 'approval', at: now - 2 * HOUR },
      { kind: 'conversation', state: 'waits', at: now - HOUR },
    ],
  })
  const people = [
    person('petra.novak@mail.example', 'Petra Novák'),
    person('zoe.lindstrom@mail.example', 'Zoë Lindström'),
  ]
  const text = linesAt(80, 'person-list', { people, total: 2, messages: 28 }).join('\n')
  for (const word of ['Petra Novák', 'Zoë Lindstr', 'petra.novak@mail.example', 'zoe.lindstrom@mail.example'])
    assert.ok(text.includes(word), `${word}\n${text}`)
})
