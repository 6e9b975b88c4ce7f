import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'

test('a message shows the start of a long value, and the number of omitted characters', () => {
  const name = 'x'.repeat(1_000_000)
  const { message } = new TriviumError('skill_not_found', { name, hint: '' })
  assert.ok(message.length < 10_000, `${message.length} characters`)
  assert.match(message, /996000 characters omitted/)
})
