import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { humanStatus } from '../../src/cli/status/screen.ts'

const troubles = Array.from({ length: 15 }, (_, at) => ({
  code: 'dead-letters',
  severity: 'error',
  title: `${at + 1} dead letters of route-${at + 1}`,
  text: `customs.example answered 502 Bad Gateway. ${'It does so again and again. '.repeat(5)}`,
  since: 0,
}))
const gateways = Array.from({ length: 10 }, (_, at) => ({
  name: `gateway-${at}`,
  transport: 'webhook',
  ok: at > 0,
  detail: 'connection refused',
}))
const budget = { budget: 'all', limit: '20 EUR/30d', unit: 'EUR', used: 1, most: 20, left: 19 }
const STATUS = {
  running: true,
  startedAt: 0,
  version: '1',
  pid: 7,
  store: { kind: 'embedded', address: '/data/trivium.db', ok: true },
  troubles,
  gateways,
  disabled: [],
  roads: [
    { road: 'journal', messages: 900 },
    { road: 'dispatch', messages: 4, held: 3, dead: 2 },
    { road: 'outbox', messages: 0, dead: 0 },
  ],
  waiting: [],
  budgets: [budget, { ...budget, budget: 'skill', skill: 'helpdesk', usedUpAt: 1, rate: 1 }],
  assistant: { assistant_name: 'trivium', memory: 3 },
}

/** The lines of the status on a screen of 80 columns. */
function linesOn(rows: number, status = STATUS): string[] {
  const { rows: rowsBefore, columns } = process.stdout
  Object.assign(process.stdout, { rows, columns: 80 })
  const text = humanStatus(status, true)
  Object.assign(process.stdout, { rows: rowsBefore, columns })
  return stripVTControlCharacters(text).split('\n')
}

test('a small screen has a line for each trouble that fits, and names what is calm in one line', () => {
  const lines = linesOn(24)
  assert.ok(lines.length < 24, lines.join('\n'))
  assert.ok(
    lines.every((line) => line.length <= 80),
    lines.join('\n'),
  )
  const shown = lines.filter((line) => line.startsWith('! ')).length
  assert.ok(shown >= 10, lines.join('\n'))
  assert.ok(lines.includes(`… and ${15 - shown} more: \`trivium trouble list\``))
  assert.match(lines.join('\n'), /^Gateways {2}10; gateway-0 FAILING$/m)
  assert.match(lines.join('\n'), /^Calm: budgets, the assistant/m)
  assert.match(lines.join('\n'), /^Budget of helpdesk /m)
  assert.doesNotMatch(lines.join('\n'), /Budget of all|journal|outbox|memory 3/)
})

test('a larger screen has all troubles in one line each, and one with room has all details', () => {
  const all = (lines: readonly string[]) => lines.filter((line) => line.startsWith('! ')).length
  assert.equal(all(linesOn(40)), 15)
  assert.match(linesOn(40).join('\n'), /^Calm: /m)
  const whole = linesOn(200).join('\n')
  assert.equal(all(linesOn(200)), 15)
  assert.match(whole, /^Budget of all[\s\S]*^Assistant \(trivium\) {2}memory 3/m)
  assert.doesNotMatch(whole, /Calm|more: `trivium trouble list`/)
})

test('the first troubles are whole if there is a line for each of the others, too', () => {
  const isWhole = (line: string) => / again\.$/.test(line)
  const whole = (rows: number) => linesOn(rows).filter(isWhole).length
  assert.equal(whole(24), 0)
  assert.match(linesOn(24).join('\n'), /^! 1 dead letters of route-1 .*…$/m)
  assert.ok(whole(40) > 0, linesOn(40).join('\n'))
  assert.ok(whole(60) > whole(40))
  for (const rows of [24, 40, 60]) assert.ok(linesOn(rows).length < rows, linesOn(rows).join('\n'))
})

test('a budget that is nearly used up is not calm', () => {
  const nearly = { ...budget, budget: 'skill', skill: 'summarise', used: 19, left: 1 }
  const lines = linesOn(24, { ...STATUS, budgets: [budget, nearly] }).join('\n')
  assert.match(lines, /^Budget of summarise /m)
  assert.match(lines, /^Calm: budgets, the assistant/m)
})

test('a quiet daemon has all lines, also on a small screen', () => {
  const quiet = linesOn(24, { ...STATUS, troubles: [], budgets: [budget] }).join('\n')
  assert.match(quiet, /^store: embedded at[\s\S]*^Budget of all[\s\S]*^Assistant/m)
})
