import assert from 'node:assert/strict'
import { test } from 'node:test'
import { humanResult } from '../../src/cli/skill-output.ts'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { wholeText } from '../../src/lib/printed.ts'

const now = Date.now()
const BEGINNING = '1970-01-01T00:00:00.000Z'
const show = (skill: string, result: Json, args: JsonObject = {}) =>
  wholeText(humanResult(skill, result, args, true))

const DONE = { id: 'j1', state: 'done', startedAt: now - 60_000, endedAt: now, by: 'ann', done: 9, total: 9 }
const REPLAY = {
  ...DONE,
  kind: 'replay',
  target: { topic: 'gateway-message', group: 'crm', subscription: 'crm' },
  result: { events: 9, unread: 0 },
}

test('a range that starts with everything is from the beginning, in jobs and in the audit log', () => {
  const all = { ...REPLAY, target: { ...REPLAY.target, since: BEGINNING } }
  assert.match(show('job-show', all), /replay gateway-message to push crm, from the beginning$/m)
  const until = { ...all, target: { ...all.target, until: '2026-11-28T14:00:00.000Z' } }
  assert.match(show('job-list', [until]), /\treplay .*, from the beginning to 2026-11-28 14:00 UTC\t/)
  const entry = { id: 'a1', at: now, by: 'ann', via: 'cli', action: 'subscription-replay', status: 'done' }
  for (const since of [BEGINNING, 0]) {
    const entries = [{ ...entry, outcome: 'ok', target: { name: 'crm', since } }]
    assert.match(show('audit-list', { entries }), /\tname crm, since the beginning$/)
    assert.match(show('audit-list', { entries }, { id: 'a1' }), /^since +the beginning$/m)
  }
})
