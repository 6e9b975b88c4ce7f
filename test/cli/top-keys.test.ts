import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { keysIn } from '../../src/cli/keys.ts'
import { createView } from '../../src/cli/top/view.ts'

const gateways = Array.from({ length: 12 }, (_, n) => ({ name: `g${n}`, transport: 'webhook', ok: true }))
const troubles = Array.from({ length: 12 }, (_, n) => ({
  id: `t${n}`,
  title: `Trouble ${n}`,
  text: `details ${n}`,
  todo: `repair ${n}`,
  severity: 'error',
}))

/** A view of 80 columns and 24 rows, the commands that it ran, and what it shows. */
function viewOf(
  now: object,
  output: string | (() => string) = Array.from({ length: 40 }, (_, n) => `line ${n}`).join('\n'),
) {
  const commands: string[] = []
  const shown = { now: JSON.parse(JSON.stringify({ at: 0, rates: {}, ...now })), points: [] }
  const view = createView({
    shown,
    size: () => ({ width: 80, rows: 24 }),
    async output(command) {
      commands.push(command.join(' '))
      return typeof output === 'string' ? output : output()
    },
    draw: () => {},
  })
  const press = (...keys: string[]) => keys.map(view.press)
  const text = () => view.lines().map(stripVTControlCharacters).join('\n')
  return { commands, press, text, refresh: view.refresh }
}

test('the keys of a terminal have names', () => {
  assert.deepEqual(keysIn('\x1b[A\x1bOBj\x1b[6~\r?q'), ['up', 'down', 'j', 'pagedown', 'enter', '?', 'q'])
  assert.deepEqual(keysIn('\x1b'), ['escape'])
  assert.deepEqual(keysIn('\x03'), ['ctrl-c'])
})

test('Enter opens the selected gateway as gateway show prints it, and q comes back', async () => {
  const { commands, press, text } = viewOf({ gateways })
  assert.match(text(), /^▸ g0 /m)
  press('down', 'j', 'up', 'enter')
  assert.deepEqual(commands, ['gateway show g1'])
  await new Promise(setImmediate)
  assert.match(text(), /^trivium gateway show g1\n\nline 0\n[\s\S]*▼ \d+ more lines\n.*q back$/)
  press('end')
  assert.match(text(), /▲ \d+ more lines[\s\S]*line 39\n/)
  assert.deepEqual(press('q', 'q'), [true, false])
  assert.match(text(), /^▸ g1 /m)
})

test('the fold shows all troubles, and Enter on one shows what to do', () => {
  const { press, text } = viewOf({ gateways, troubles })
  assert.match(text(), /more troubles: Enter shows them$/m)
  press('down', 'down', 'down', 'down', 'down', 'down', 'enter')
  assert.doesNotMatch(text(), /more troubles/)
  press('g', 'down', 'enter')
  assert.match(text(), /! Trouble 1 [\s\S]*details 1[\s\S]*→ repair 1/)
  press('escape', '?')
  assert.match(text(), /Keys of the overview/)
})

test('the selection stays on its row when others come', () => {
  const now = { gateways }
  const { press, text } = viewOf(now)
  press('end')
  assert.match(text(), /^▸ g11 /m)
  assert.deepEqual(press('down', 'escape'), [true, false])
})

test('Enter on a trouble shows what to do, and below it the thing itself', async () => {
  const [first] = troubles
  const where = { queue: 'dispatch', group: 'orders', code: 'skill_failed', pattern: 'it answered #' }
  const dead = { ...first, code: 'dead-letters', where }
  const { commands, press, text } = viewOf({ gateways, troubles: [dead] })
  press('enter')
  const command =
    'dead-letter list --queue dispatch --route orders --code skill_failed --pattern it answered #'
  assert.deepEqual(commands, [command])
  await new Promise(setImmediate)
  // The title is whole, so that it can be copied.
  const [title = ''] = text().split('\n\n')
  assert.equal(title.replaceAll(/ \\\n */g, ' '), `trivium ${command.replace(/it answered #/, "'$&'")}`)
  assert.match(text(), /→ repair 0\n\nline 0\n/)
})

test('a long command of a page is broken at spaces, so that all its lines can be pasted', () => {
  const command = `trivium dead-letter retry --all --queue dispatch --route orders --error 'the office answered 503' --dry-run`
  const todo = `Fix the office, then retry them: \`${command}\`, which asks before.`
  const { press, text } = viewOf({ troubles: [{ ...troubles[0], todo }] })
  press('enter')
  const shown = text()
  assert.ok(
    shown.split('\n').every((line) => line.length <= 80),
    shown,
  )
  const [, pasted = ''] = /`([^`]*)`/.exec(shown.slice(shown.indexOf('→'))) ?? []
  assert.equal(pasted.replaceAll(/ \\\n +/g, ' '), command)
  assert.doesNotMatch(shown, /→ [^\n]*\n\n/)
})

test('a filter shows only the rows with a text, until Escape', () => {
  const { press, text } = viewOf({ gateways, troubles })
  press('/', 'G', '1', '1', 'x', '\u007f')
  assert.match(text(), /^▸ g11 /m)
  assert.match(text(), /\/G11▏ Enter keeps the filter · Esc ends it$/)
  assert.doesNotMatch(text(), /g10|Trouble/)
  press('enter')
  assert.match(text(), /\/G11 · Esc shows all/)
  assert.deepEqual(press('escape'), [true])
  assert.match(text(), /Trouble 0/)
  press('/', 'z', 'z', 'q')
  assert.match(text(), /No row has this text\./)
})

test('Tab selects an entry of an opened list, Enter opens it, and q comes back to the list', async () => {
  const ids = Array.from({ length: 30 }, (_, n) => `${10_000_000 + n}`)
  const list = ['31 messages', 'id        age', ...ids.map((id) => `${id}  3 min`)].join('\n')
  const retrying = { ...troubles[0], code: 'retrying', where: { gateway: 'shop' } }
  const { commands, press, text } = viewOf({ troubles: [retrying] }, list)
  press('enter')
  await new Promise(setImmediate)
  assert.match(text(), /Tab next entry · Enter open · a ack · q back$/)
  press('enter', 'tab', 'tab')
  assert.match(text(), /^▸ 10000001 {2}3 min$/m)
  press('backtab', 'backtab')
  assert.match(text(), /^▸ 10000029 {2}3 min$/m)
  press('tab', 'enter')
  assert.deepEqual(commands, ['message list --outcome retrying --gateway shop', 'message show 10000000'])
  assert.match(text(), /^trivium message show 10000000$/m)
  press('q')
  assert.match(text(), /^▸ 10000000 {2}3 min$/m)
  assert.deepEqual(press('q', 'q'), [true, false])
})

test('an opened page is read again, keeps its place and its selected entry, and says when it was read', async () => {
  const ids = ['20000001', '20000002']
  const { commands, press, text, refresh } = viewOf(
    { troubles: [{ ...troubles[0], code: 'retrying', where: {} }] },
    () => ids.map((id) => `${id}  3 min`).join('\n'),
  )
  press('enter')
  await new Promise(setImmediate)
  press('tab', 'tab')
  assert.match(text(), /^▸ 20000002 /m)
  assert.match(text(), /^\d\d:\d\d:\d\d · ↑↓ scroll/m)
  ids.unshift('20000000')
  await refresh()
  assert.equal(commands.length, 2)
  assert.match(text(), /^20000000 [\s\S]*^▸ 20000002 /m)
  press('q')
  await refresh()
  assert.equal(commands.length, 2)
})

test('r retries the shown dead letter and a takes a trouble, each after a question', async () => {
  const dead = { ...troubles[0], code: 'dead-letters', where: {} }
  const { commands, press, text, refresh } = viewOf({ troubles: [dead] }, '30000001  3 min')
  press('a')
  assert.match(text(), /Take care of “Trouble 0”\? y yes · any other key no$/)
  press('n')
  assert.deepEqual(commands, [])
  press('a', 'y')
  await new Promise(setImmediate)
  assert.deepEqual(commands, ['trouble ack t0'])
  await refresh()
  assert.equal(commands.length, 1, 'a command that changes something runs once')
  press('q', 'enter')
  await new Promise(setImmediate)
  press('r')
  assert.doesNotMatch(text(), /any other key no/, 'nothing is selected')
  press('tab', 'r')
  assert.match(text(), /Retry dead letter 30000001 now\? y yes/)
  press('y')
  await new Promise(setImmediate)
  assert.deepEqual(commands.slice(2), ['dead-letter retry 30000001'])
  press('r')
  assert.doesNotMatch(text(), /any other key no/)
})

test('a releases a trouble that somebody has', () => {
  const taken = { ...troubles[0], acknowledged: { by: 'ada', at: 0 } }
  const { press, text, commands } = viewOf({ troubles: [taken] })
  press('a')
  assert.match(text(), /No longer take care of “Trouble 0”\?/)
  press('y')
  assert.deepEqual(commands, ['trouble release t0'])
})
