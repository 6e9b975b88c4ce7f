import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VIEWER_SKILLS } from '../../src/core/viewer-role.ts'
import { builtInSkills } from '../../src/daemon/built-in-skills.ts'

/** Skills that a viewer cannot use, by the reason. */
const REFUSED_FOR = {
  'changes something': `
    event-emit event-subscribe event-unsubscribe event-seek event-skip event-replay
    gateway-send gateway-reconnect gateway-pause gateway-resume route-pause route-resume
    skill-pause skill-resume conversation-pause conversation-resume conversation-settle
    conversation-note conversation-note-delete
    refused-try daemon-resume slack-installs-remove send-cancel run-cancel job-cancel person-erase
    message-resend message-retry message-replay message-erase
    state-set state-delete artifact-save ask-person session-delete
    callback-create callback-respond callback-release approval-decide
    dead-letter-retry dead-letter-drop dead-letter-bulk
    subscription-pause subscription-resume subscription-retry subscription-replay
    subscription-create subscription-update subscription-delete call-settle
    delegation-take delegation-accept
    schedule-create schedule-delete schedule-run schedule-pause schedule-resume
    trouble-acknowledge trouble-release view-save view-delete workbench-update task-add task-claim task-finish`,
  'consumes messages': `
    event-wait event-ack event-extend
    gateway-receive gateway-ack gateway-nack gateway-extend callback-wait`,
  'may show secrets, or data about a person': `
    state-get state-list state-wait person-list person-open person-show person-count person-export`,
  'is for people who write to the assistant': `
    remember recall forget search-notes digest-now delegate work-done schedule-in-words remind
    assistant-help`,
}
const REFUSED = Object.values(REFUSED_FOR).flatMap((names) => names.trim().split(/\s+/))

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
  // `state-list` may show secrets, and `person-list` is for operators.
  const lists = names.filter((name) => /-list$/.test(name) && !/^(state|person)-list$/.test(name))
  assert.deepEqual(
    lists.filter((name) => !VIEWER_SKILLS.includes(name)),
    [],
  )
})
