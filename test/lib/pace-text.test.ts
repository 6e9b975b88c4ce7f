import assert from 'node:assert/strict'
import { test } from 'node:test'
import { followText } from '../../src/engine/print/job-steps.ts'
import { paceText } from '../../src/lib/pace-text.ts'

test('a pace has a rate, and the time that is left', () => {
  assert.equal(paceText(7.72, 940), '7.7 a second, about 2 min left')
  assert.equal(paceText(1_234.5), '1,235 a second')
  assert.equal(paceText(7.9, 80, 8), '7.9 a second (its rate), about 10 s left')
  assert.equal(paceText(3, 0, 8), '3 a second')
})

test('a job that is followed says how many are left, how fast it is, and for how long', () => {
  const job = {
    kind: 'replay',
    state: 'done',
    done: 1_014,
    total: 1_014,
    target: { topic: 'gateway-message', group: 'crm', subscription: 'crm' },
    outcomes: { delivered: 20, waiting: 242, dead: 0 },
  }
  const pace = '242 waiting, 20 delivered, 10 a second, about 24 s left'
  assert.equal(followText({ ...job, speed: 10 }), `delivering, ${pace}`)
  const running = { ...job, state: 'running', done: 300, outcomes: { delivered: 0, waiting: 80, dead: 0 } }
  assert.equal(followText(running), 'running, 300 of 1014 events, 80 waiting')
})
