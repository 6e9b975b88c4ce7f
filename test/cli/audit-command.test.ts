import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/core/json.ts'
import { humanAudit } from '../../src/features/audit/print.ts'
import { actionInWords, outcomeInWords } from '../../src/lib/audit-words.ts'
import { wholeText } from '../../src/lib/printed.ts'

const REASON = 'the photo shows another pan, and its number is not the one of the order'
const entry = {
  at: Date.UTC(2026, 10, 29, 12, 4),
  by: 'oidc:ingrid@kitchen.example',
  via: 'console',
  action: 'approval-decide',
  outcome: 'ok',
  status: 'done',
  target: { id: '01a21eba-7990-7000-8000-000474f57ee7', status: 'denied' },
  reason: REASON,
}
const titles = { [entry.target.id]: 'Refund 412.00 EUR for order 4711' }

test('a decision and its reason are never cut, however narrow the terminal is', (t) => {
  const { columns } = process.stdout
  t.after(() => {
    process.stdout.columns = columns
  })
  for (const width of [48, 80, 140]) {
    process.stdout.columns = width
    const text = wholeText(humanAudit({ entries: [entry], titles }, {}))
    assert.match(text, / denied(\s|$)/m, `at ${width}`)
    assert.equal(/^Not shown: via \(/m.test(text), width < 120, `at ${width}:\n${text}`)
    assert.ok(text.replaceAll(/\s+/g, ' ').includes(REASON), `at ${width}:\n${text}`)
    assert.ok(
      text.split('\n').every((line) => line.length <= width),
      `at ${width}:\n${text}`,
    )
  }
})

test('a terminal has short ids, a pipe whole ones', (t) => {
  const { columns, isTTY } = process.stdout
  t.after(() => Object.assign(process.stdout, { columns, isTTY }))
  const id = '01a21eba-7990-7000-8000-000474f57ee7'
  const job = 'person-erase-41685f28-577c-4f82-bbda-1bf10e0c8ab4'
  const { reason: _, ...cancelled } = { ...entry, id, action: 'job-cancel', target: { id: job } }
  const listed = () => wholeText(humanAudit({ entries: [cancelled] }, {}))
  Object.assign(process.stdout, { columns: 140, isTTY: true })
  const text = listed()
  assert.match(text, /^74f57ee7 .* console +cancelled a job \(erasure\): 0e0c8ab4$/m)
  assert.ok(!text.includes(id) && !text.includes(job), text)
  const target = { gateway: 'support', conversation: 'mail-oasUIKlohnHJfoV0TSzBIl' }
  for (const width of [80, 100, 140]) {
    Object.assign(process.stdout, { columns: width })
    const shown = wholeText(humanAudit({ entries: [cancelled, { ...cancelled, target }] }, {}))
    assert.ok(
      shown.replaceAll(/\s+/g, ' ').includes(`gateway support, conversation ${target.conversation}`),
      shown,
    )
  }
  Object.assign(process.stdout, { columns: undefined, isTTY: false })
  const piped = listed()
  assert.ok(piped.includes(id) && piped.includes(job), piped)
})

test('at a terminal, an entry is a sentence with the person, the outcome and the object whole', (t) => {
  const { columns } = process.stdout
  t.after(() => {
    process.stdout.columns = columns
  })
  const refused = {
    ...entry,
    by: 'oidc:bartholomew.featherstonehaugh@kitchen.example',
    action: 'gateway-pause',
    outcome: 'gateway_not_running',
    status: 'failed',
    target: { gateway: 'payments-of-the-shop' },
    reason: 'the secret was replaced',
    error: 'The gateway payments-of-the-shop does not run.',
  }
  const forbidden = {
    ...refused,
    outcome: 'forbidden',
    status: 'denied',
    reason: null,
    error: 'Skill gateway-pause for oidc:Bob Bee is not allowed: viewers cannot change anything; `roles`',
  }
  const listed = (width: number) => {
    process.stdout.columns = width
    return wholeText(humanAudit({ entries: [entry, refused, forbidden], titles }, {})).replaceAll(/\s+/g, ' ')
  }
  const narrow = listed(80)
  for (const sentence of [
    'ingrid@kitchen.example denied a request: Refund 412.00 EUR for order 4711; reason: ',
    'bartholomew.featherstonehaugh@kitchen.example tried to pause a gateway: payments-of-the-shop; failed (gateway_not_running): The gateway payments-of-the-shop does not run; reason: the secret',
    'tried to pause a gateway: payments-of-the-shop; not allowed: viewers cannot change anything',
  ])
    assert.ok(narrow.includes(sentence), `${sentence}\nin ${narrow}`)
  assert.ok(narrow.includes('Not shown: via (') && !narrow.includes('roles'), narrow)
  assert.match(listed(140), /featherstonehaugh@kitchen.example console tried to pause a gateway: /)
})

test('an entry begins with a sentence, has times and durations in words, and names what shows its object', (t) => {
  const { columns } = process.stdout
  t.after(() => {
    process.stdout.columns = columns
  })
  process.stdout.columns = 80
  const shown = (one: JsonObject) => wholeText(humanAudit({ entries: [one], titles }, { id: 'x' }))
  const decided = shown({ ...entry, id: 'e1', kind: 'person' })
  assert.match(decided, /^ingrid@kitchen.example denied a request: Refund 412.00 EUR for order 4711;/)
  assert.match(decided, /^by +ingrid@kitchen.example \(person, console\)$/m)
  assert.match(decided, /^→ `trivium approval show 01a21eba-7990-7000-8000-000474f57ee7`$/m)
  const until = Date.UTC(2026, 10, 29, 15, 4)
  const paused = shown({
    ...{
      ...entry,
      id: 'e2',
      action: 'route-pause',
      reason: 'spam',
      target: { route: 'orders', for: 10_800_000 },
    },
    changes: { pause: { before: null, after: { by: 'oidc:ada', until } } },
  })
  assert.match(paused, /paused a route: orders, for 3 h; reason: spam\n/)
  assert.match(paused, /^for +3 h$/m)
  assert.match(paused, /^pause +nothing → by: ada, until: 2026-11-29 15:04:00 UTC$/m)
  assert.match(paused, /^→ `trivium route show orders`$/m)
})

test('an action on everything, or on a person, says what it did', () => {
  const { reason: _, ...done } = entry
  const did = (action: string, target: JsonObject, result: JsonObject) =>
    wholeText(
      humanAudit({ entries: [{ ...done, id: target.all ? 'a1' : 'b2', action, target, result }] }, {}),
    )
  assert.match(did('person-erase', {}, { job: 'j1' }), /person-erase\s+begun\s+job j1/)
  assert.match(did('dead-letter-retry', { all: true }, { count: 7 }), /done\s+7 dead letters/)
  const until = new Date(entry.at).toISOString()
  const filter = { all: true, group: 'orders', error: 'not in the catalogue', until }
  assert.match(
    did('dead-letter-retry', filter, { count: 30 }),
    /^a1\s.*\sdone\s+30 dead letters; route orders, error not in the catalogue$/m,
  )
  const bulk = { do: 'drop', code: 'skill_failed', until: entry.at - 3_600_000 }
  assert.match(
    did('dead-letter-bulk', bulk, { job: 'j1', total: 11 }),
    /begun\s+11 dead letters; do drop, code skill_failed, until 2026-11-29T11:04/,
  )
})

test('an action that changed nothing says so', () => {
  const { reason: _, ...done } = entry
  const did = (action: string, more: JsonObject) =>
    wholeText(humanAudit({ entries: [{ ...done, action, ...more }] }, {}))
  const pause = { by: 'ada', since: 1, reason: 'spam' }
  for (const [action, more] of [
    ['route-resume', { target: { route: 'orders' }, result: { existed: false } }],
    ['dead-letter-drop', { target: { all: true }, result: { count: 0 } }],
    ['route-pause', { target: { route: 'orders' }, changes: { pause: { before: pause, after: pause } } }],
  ] as const) {
    assert.match(did(action, more), new RegExp(`${action}\\tnothing changed\\t`), action)
    const words = actionInWords({ action, status: 'done', ...more })
    assert.match(words, /^tried to /)
  }
  const changed = { pause: { before: null, after: pause } }
  assert.match(did('route-pause', { target: { route: 'orders' }, changes: changed }), /route-pause\tdone\t/)
})

test('the start of a job is not its end, and the end of an erasure says how much was erased', () => {
  const begun = { action: 'person-erase', target: { confirm: true }, result: { job: 'person-erase-1' } }
  assert.equal(actionInWords(begun), 'began to erase a person')
  assert.equal(outcomeInWords(begun), 'begun')
  const bulk = { action: 'dead-letter-bulk', target: { do: 'drop' }, result: { job: 'd-1', total: 11 } }
  assert.equal(actionInWords(bulk), 'began to drop 11 dead letters')
  const erased = { action: 'person-erased', target: { job: 'person-erase-1', records: 17 } }
  assert.equal(actionInWords(erased), 'erased a person: 17 records')
  const messages = { job: 'person-erase-2', records: 5, messages: 1 }
  assert.equal(actionInWords({ action: 'person-erased', target: messages }), 'erased 1 message: 5 records')
})

test('a refused second decision does not read like a decision', () => {
  const refused = { ...entry, status: 'failed', outcome: 'approval_decided' }
  assert.match(wholeText(humanAudit({ entries: [refused] }, {})), /failed: already decided/)
})
