import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileFailure, TriviumError } from '../../src/core/errors.ts'
import { temporaryDir } from '../fixtures/folder.ts'

test('a message shows the start of a long value, and the number of omitted characters', () => {
  const name = 'x'.repeat(1_000_000)
  const { message } = new TriviumError('skill_not_found', { name, hint: '' })
  assert.ok(message.length < 10_000, `${message.length} characters`)
  assert.match(message, /996000 characters omitted/)
})

test('a file of another user names the user of this process, and what to do', async (t) => {
  const path = join(temporaryDir(t), 'none', 'x.lock')
  const forbidden = Object.assign(new Error(`EACCES: permission denied, open '${path}'`), { code: 'EACCES' })
  const failure = fileFailure(path)
  const { code, message } = failure('state_unwritable', forbidden)
  assert.equal(code, 'state_unwritable')
  assert.match(message, new RegExp(`EACCES.*as user ${process.getuid?.()}: run it as the owner of the file`))
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  assert.doesNotMatch(failure('state_unwritable', full).message, /owner/)
})
