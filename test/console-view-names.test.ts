import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NOUNS } from '../src/cli/grammar.ts'

const { intendedPath } = await import(new URL('../src/console/lib/view-names.js', import.meta.url).href)

/** Nouns whose objects have no view of their own. */
const WITHOUT_VIEW = ['artifact', 'callback', 'delegation', 'state', 'task', 'view', 'workbench']

test('every noun of the command line is a name of a view of the console', () => {
  const unknown = NOUNS.filter((noun) => noun !== 'audit' && noun !== 'cost' && !intendedPath([noun]))
  assert.deepEqual(unknown, WITHOUT_VIEW)
  assert.deepEqual(intendedPath(['message', 'ID']), ['messages', 'ID'])
  assert.deepEqual(intendedPath(['subscription', 'crm-sync']), ['queues'])
  assert.equal(intendedPath(['messages', 'a', 'b']), undefined)
  assert.equal(intendedPath(['mesages']), undefined)
})
