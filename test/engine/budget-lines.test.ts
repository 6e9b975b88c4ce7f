import assert from 'node:assert/strict'
import { test } from 'node:test'
import { budgetLine } from '../../src/engine/print/budget-lines.ts'

const money = { limit: '20 EUR/30d', unit: 'EUR', most: 20 }
const at = Date.UTC(2026, 10, 29, 12)

test('the line of a budget says what is used and left, how many runs that is, and when which part is free again', () => {
  const some = { budget: 'total', ...money, used: 4.2, left: 15.8, resetsAt: at }
  const nextFree = { at: at - 3_600_000, amount: 0.2 }
  const free = 'free again: 0.20 EUR more at 2026-11-29 11:00 UTC, all by 2026-11-29 12:00 UTC'
  const line = budgetLine({ ...some, nextFree, paysFor: 7 })
  assert.equal(line, `Budget of all  20 EUR/30d: 4.20 of 20.00 EUR, 15.80 EUR left (about 7 runs); ${free}`)
  const last = budgetLine({ ...some, nextFree: { at, amount: 4.2 }, paysFor: 0 })
  assert.match(last, /left \(less than one run\); free again: 4\.20 EUR more at 2026-11-29 12:00 UTC$/)
  const tokens = { limit: '5M tokens/1d', unit: 'tokens', most: 5_000_000, used: 0, left: 5_000_000 }
  const unused = 'Budget of helper  5M tokens/1d: 0 of 5,000,000 tokens, 5,000,000 tokens left'
  assert.equal(budgetLine({ budget: 'skill', skill: 'helper', ...tokens }), unused)
  const over = budgetLine({ budget: 'total', ...money, used: 21, left: 0, until: at, resetsAt: at })
  assert.match(over, /21.00 of 20.00 EUR, .*USED UP.*, available again at 2026-11-29 12:00 UTC$/)
})

test('the line of a budget has the usual forecast, and that of a much faster last hour', () => {
  const use = { budget: 'total', ...money, used: 19, left: 1, usedUpAt: at }
  const rate = { amount: 2, per: 'day', measured: 86_400_000 }
  const lastHour = { usedUpAt: at - 7_200_000, rate: { amount: 0.5, per: 'hour', measured: 3_600_000 } }
  const usual = '; used up at about 2026-11-29 12:00 UTC at 2.00 EUR a day (as in the last 24 hours)'
  const fast = ', or at about 2026-11-29 10:00 UTC at 0.50 EUR an hour (as in the last hour)'
  const then = '; then messages for models wait, and other calls get an error'
  assert.ok(budgetLine({ ...use, rate }).endsWith(usual + then))
  assert.ok(budgetLine({ ...use, rate, lastHour }).endsWith(usual + fast + then))
})

test('the line of a budget that pauses keep from being used names them, and what follows', () => {
  const pause = { kind: 'skill', name: 'sum', by: 'control-token:ada', reason: 'too slow', until: at }
  const use = { budget: 'skill', skill: 'sum', ...money, used: 19, left: 1 }
  const line = (paused: object) => budgetLine({ ...use, paused: { by: [pause], until: at, ...paused } })
  const begin =
    '1.00 EUR left; not used while skill sum is paused until 2026-11-29 12:00 UTC (by ada: too slow)'
  assert.ok(line({ waiting: 5 }).endsWith(begin))
  const ends = (paused: object, rest: string) =>
    assert.ok(line(paused).endsWith(`${begin}; after that ${rest}`), line(paused))
  const more = ', 1.00 EUR more than is left, as runs that have begun are not stopped'
  const all = { waiting: 5, expected: { runs: 5, amount: 2 } }
  ends(all, `the 5 messages that wait run and use about 2.00 EUR${more}`)
  const some = { waiting: 9, expected: { runs: 4, amount: 2 } }
  ends(
    some,
    `about 4 of the 9 messages that wait run and use about 2.00 EUR${more}; the others wait for the budget`,
  )
  const one = { waiting: 1, expected: { runs: 1, amount: 0.4 } }
  ends(one, 'the 1 message that waits runs and uses about 0.40 EUR')
  // At the end of the pause, more is left than now.
  const uses = 'the 5 messages that wait run and use about 2.00 EUR'
  ends({ ...all, atEnd: { runs: 5, amount: 2, left: 2.5 } }, `${uses} of the 2.50 EUR left then`)
  const tooMany = { ...all, atEnd: { runs: 5, amount: 2, left: 1.5 } }
  ends(tooMany, `${uses}, 0.50 EUR more than is left then, as runs that have begun are not stopped`)
  const rate = { amount: 2, per: 'day', measured: 86_400_000 }
  ends(
    { ...all, atEnd: { runs: 5, amount: 2, left: 2.5 }, rate },
    `${uses} of the 2.50 EUR left then; the rest lasts for about 6 h at 2.00 EUR a day (as in the last 24 hours)`,
  )
})

test('the line of the budget of each sender names up to ten senders who wait', () => {
  const over = Array.from({ length: 12 }, (_, index) => ({ sender: `s${index}`, until: at }))
  const line = budgetLine({ budget: 'sender', limit: '1k tokens/1d', over })
  assert.match(
    line,
    /^Budget of each sender {2}1k tokens\/1d: s0 until 2026-11-29 12:00 UTC, .* s9 until .*, 2 more$/,
  )
  assert.match(budgetLine({ budget: 'sender', limit: '1k tokens/1d', over: [] }), /: nobody waits$/)
})
