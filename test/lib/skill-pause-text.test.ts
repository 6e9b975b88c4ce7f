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

test('the pause of a skill that only other skills call names them', () => {
  assert.equal(
    textOf('refund', 'skill helpdesk', 'skill helpdesk'),
    'Calls by skill helpdesk wait, with their messages, and so do approved requests.',
  )
})

test('the pause of a skill names the routes and schedules that it holds', () => {
  assert.equal(
    textOf('confirm', 'route orders', 'skill confirm'),
    'Messages of routes orders and shop are accepted, but wait, and runs of schedule nightly wait too.',
  )
  assert.match(
    textOf('confirm', 'skill helpdesk'),
    / Calls by skill helpdesk wait too, with their messages\.$/,
  )
  assert.equal(textOf('report'), 'Runs of schedule report wait.')
  assert.equal(textOf('tool', 'http token:worker'), 'Programs that call it get an error.')
  assert.match(textOf('tool'), /^All that starts it waits/)
})
