import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutSecrets } from '../../src/lib/secrets.ts'

test('nothing of a secret is left in a text, also if another secret is its beginning', () => {
  for (const secrets of [
    ['key-1', 'key-12'],
    ['key-12', 'key-1'],
  ])
    assert.equal(withoutSecrets('key-12 and key-1', secrets), '[secret] and [secret]')
})
