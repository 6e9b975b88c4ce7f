// Own process: it checks which packages are loaded.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { compilePattern } from '../../src/core/pattern.ts'
import { assistantDocument } from '../../src/features/assistant/assistant-state.ts'
import { createStateManager } from '../../src/features/documents/manager.ts'
import { temporaryDir } from '../fixtures/folder.ts'

const time = '2026-05-06T12:00:00.000Z'
const note = { id: 'memory-1', text: 'x', channel: 'cli', owner: 'cli', time }
const schedule = {
  id: 'schedule-1',
  name: 'n',
  cron: '0 9 * * 1',
  timezone: 'UTC',
  misfire: 'once' as const,
  skill: 'echo',
  args: { deep: [{ a: null }] },
  channel: 'cli',
  created: time,
  by: { id: 'a', roles: ['b'] },
}
/** Loaded files whose path matches. */
const loadedFiles = (name: RegExp) =>
  Object.keys(createRequire(import.meta.url).cache).filter((path) => name.test(path))

test('only an invalid state.json loads Ajv, and globs of stars do not load RE2', async (t) => {
  const dir = temporaryDir(t)
  const manager = createStateManager({ dir, documents: [assistantDocument] })
  t.after(() => manager.close())
  const state = manager.document(assistantDocument)
  await state.update((draft) => {
    draft.memory.push(note)
    draft.schedules.push(schedule)
    draft.extra = { old: [1, { b: 'c' }] }
  })
  assert.equal((await state.load()).document.schedules[0]?.name, 'n')
  assert.ok(compilePattern('deploy*now').test('deploy it now'))
  assert.deepEqual(loadedFiles(/node_modules\/(ajv|re2js)/), [])

  const updateNote = (fields: object) =>
    state.update((draft) => void Object.assign(draft, { memory: [{ ...note, ...fields }] }))
  for (const [fields, message] of [
    [{ time: 'yesterday' }, /\/memory\/0\/time must match format "date-time"/],
    [{ time: '2026-02-30T00:00:00Z' }, /\/memory\/0\/time must match format/],
    [{ more: 1 }, /\/memory\/0\/more must NOT have additional properties/],
  ] as const)
    await assert.rejects(updateNote(fields), { code: 'state_invalid', message })
  await assert.rejects(
    state.update((draft) => void Object.assign(draft, { schedules: [{ ...schedule, askedBy: {} }] })),
    { code: 'state_invalid', message: /\/schedules\/0\/askedBy\/id must have/ },
  )
  assert.ok(loadedFiles(/node_modules\/ajv/).length > 0)
})
