import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skillPauseText, skillUseOf } from '../../src/lib/skill-pause-text.ts'

const ROUTES = [
  { name: 'support-mail', target: 'skill', to: 'helpdesk' },
  { name: 'orders', target: 'skill', to: 'confirm' },
  { name: 'shop', target: 'skill', to: 'confirm' },
]
const SCHEDULES = [
  { id: 'nightly', skill: 'confirm' },
  { id: 'report', skill: 'report' },
]
const textOf = (name: string, ...callers: string[]) =>
  skillPauseText(skillUseOf(name, { routes: ROUTES, schedules: SCHEDULES, callers }))

test('the pause of a skill that only other skills call says that it holds nothing, and what stops them', () => {
  assert.equal(
    textOf('refund', 'skill helpdesk', 'skill helpdesk'),
    'This holds nothing: no route and no schedule runs refund. Skill helpdesk still calls it: these calls run, also approved requests. To stop them, pause route support-mail.',
  )
  assert.match(textOf('refund', 'skill other'), /To stop them, pause skill other\.$/)
})

test('the pause of a skill names the routes and schedules that it holds', () => {
  assert.equal(
    textOf('confirm', 'route orders', 'skill confirm'),
    'Messages of routes orders and shop are accepted, but wait, and schedule nightly does not run. Direct calls still run.',
  )
  assert.match(textOf('confirm', 'skill helpdesk'), /Skill helpdesk still calls it/)
  assert.equal(textOf('report'), 'Schedule report does not run. Direct calls still run.')
  assert.match(textOf('tool', 'http token:worker'), /^This holds nothing: .* Direct calls and approved/)
})
