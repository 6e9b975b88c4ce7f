import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTerminal } from '../../src/cli/terminal.ts'
import { paint } from '../../src/lib/paint.ts'
import { wrapped } from '../../src/lib/paragraph.ts'
import { listTable, table } from '../../src/lib/text-table.ts'

const ID = '01a21eba-7990-7000-8000-000474f57ee7'
const HEAD = ['id', 'gateway', 'outcome', 'text']
const ROW = [ID, 'support', 'done', 'where is my order of last week?']

test('the texts of a table that is too wide stand below their rows', () => {
  assert.equal(
    table(HEAD, [ROW, ['short', 'shop', 'dead', '-']], 60),
    [
      'id                                    gateway  outcome',
      `${ID}  support  done`,
      '  text: where is my order of last week?',
      'short                                 shop     dead',
    ].join('\n'),
  )
})

test('a row has several cells on each line if fewer than three columns fit', () => {
  assert.equal(
    table(HEAD, [ROW], 50),
    `${ID}\n  gateway: support · outcome: done\n  text: where is my order of last week?`,
  )
})

test('a table may have more words than a call can have arguments', () => {
  const text = Array(200).fill('word').join(' ')
  const rows = Array.from({ length: 1_000 }, (_, at) => [String(at), 'x', text])
  assert.equal(table(['n', 'state', 'why'], rows, 1_200).split('\n').length, 1_001)
})

test('a coloured cell that is wrapped keeps its colours', (t) => {
  const { FORCE_COLOR } = process.env
  t.after(() => {
    if (FORCE_COLOR === undefined) delete process.env.FORCE_COLOR
    else process.env.FORCE_COLOR = FORCE_COLOR
  })
  process.env.FORCE_COLOR = '1'
  const written: string[] = []
  const { out } = createTerminal(false, { out: (text) => written.push(text), err: () => {} })
  const state = paint('red', `${'word '.repeat(12)}end`)
  out(table(['id', 'state', 'why'], [['a', state, 'b']], 40))
  assert.match(written.join(), /word.*\n.*word/)
  assert.doesNotMatch(written.join(), /u001b/)
})

test('a painted text that a paragraph breaks keeps its colours; strangers cannot add any', (t) => {
  process.env.FORCE_COLOR = '1'
  t.after(() => delete process.env.FORCE_COLOR)
  const written: string[] = []
  const { out } = createTerminal(false, { out: (text) => written.push(text), err: () => {} })
  const state = paint('red', `not delivered: a mailbox\nthat is \u001b[5mfull and full and full again`)
  out(wrapped(`reply to somebody  ${state}, \u001b[32mby a stranger\u001b[39m`, 36).join('\n'))
  const text = written.join('')
  assert.ok(text.includes('\u001b[31mnot\u001b[39m \u001b[31mdelivered:'), text)
  assert.ok(text.includes('\u001b[31magain\u001b[39m'), text)
  assert.doesNotMatch(text, /\\u001b\[31m/)
  assert.match(text, /\\u001b\[5m.*\\u001b\[32mby/s)
})

test('a list in a narrow terminal cuts a word that is longer than a line, such as JSON', () => {
  const rows = [['b224101c', '10 s', 'a webhook with a long name', `{"data":"${'x'.repeat(90)}"}`]]
  const lines = listTable(['id', 'age', 'type', 'data'], rows, 48).split('\n')
  assert.ok(
    lines.every((line) => line.length <= 48),
    lines.join('\n'),
  )
  assert.ok(lines.some((line) => line.endsWith('…')))
})

test('the names that other commands take stay in the row longest', () => {
  const head = ['what', 'name', 'since', 'by', 'waiting']
  const row = ['gateway', 'a-gateway-with-a-long-name', '2026-11-29 05:08 UTC', 'Ingrid Aune', 19]
  assert.equal(
    table(head, [row], 60),
    [
      'what     name                        by           waiting',
      'gateway  a-gateway-with-a-long-name  Ingrid Aune  19',
      '  since: 2026-11-29 05:08 UTC',
    ].join('\n'),
  )
})

test('a command in backticks is never broken, because it is copied', () => {
  const command = '`trivium refusal try --gateway payments`'
  assert.deepEqual(wrapped(`Has the sender another secret? ${command} asks for it.`, 40), [
    'Has the sender another secret?',
    command,
    'asks for it.',
  ])
  assert.deepEqual(wrapped(`See ${command}.`, 20), ['See', `${command}.`])
})
