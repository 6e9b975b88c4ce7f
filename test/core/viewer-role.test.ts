import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VIEWER_SKILLS } from '../../src/core/viewer-role.ts'
import { builtInSkills } from '../../src/daemon/built-in-skills.ts'

/**
 * Skills that a viewer cannot use: they change something, consume messages, or read possible
 * secrets.
 */
const REFUSED = `
  event-emit event-subscribe event-unsubscribe event-seek event-replay event-wait event-ack event-extend
  gateway-receive gateway-ack gateway-nack gateway-extend gateway-send gateway-reconnect gateway-pause gateway-resume
  route-pause route-resume skill-pause skill-resume conversation-pause conversation-resume
  refused-try daemon-resume slack-installs-remove send-cancel run-cancel job-cancel person-count person-export person-erase message-resend message-retry message-replay message-erase
  state-get state-set state-delete state-list state-wait artifact-save ask-person session-delete
  callback-create callback-wait callback-respond callback-release approval-decide
  dead-letter-retry dead-letter-drop dead-letter-bulk subscription-pause subscription-resume subscription-replay
  subscription-create subscription-update subscription-delete call-settle
  remember recall forget search-notes digest-now delegate work-done schedule-in-words remind assistant-help
  delegation-take delegation-accept schedule-create schedule-delete schedule-run schedule-pause schedule-resume
  workbench-update task-add task-claim task-finish
`
  .trim()
  .split(/\s+/)

test('a viewer has every built-in skill that only reads, and no others', () => {
  const names = builtInSkills.map(({ name }) => name)
  assert.deepEqual(
    names.filter((name) => VIEWER_SKILLS.includes(name) === REFUSED.includes(name)),
    [],
    'each built-in skill is in one of the two lists',
  )
  // `troubles` is built in, but not one of `builtInSkills`: the daemon makes it.
  assert.deepEqual(
    [...VIEWER_SKILLS, ...REFUSED].filter((name) => !names.includes(name) && name !== 'troubles'),
    [],
    'both lists name built-in skills only',
  )
  // `state-list` may show secrets.
  const lists = names.filter((name) => name.endsWith('-list') && name !== 'state-list')
  assert.deepEqual(
    lists.filter((name) => !VIEWER_SKILLS.includes(name)),
    [],
  )
})
