import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startWithoutSecrets, withoutSecrets } from '../../src/lib/secrets.ts'

test('nothing of a secret is left in a text, also if another secret is its beginning', () => {
  for (const secrets of [
    ['key-1', 'key-12'],
    ['key-12', 'key-1'],
  ])
    assert.equal(withoutSecrets('key-12 and key-1', secrets), '[secret] and [secret]')
})

test('nothing of a secret is left at the end of a text that was cut', () => {
  const secrets = ['key-12345', 'a b"ö', 'xyzkey']
  const end = (text: string) => startWithoutSecrets(`hello ${text}`, secrets)
  for (const cut of ['key-1234', 'a b', 'a b\\', 'a%20b', 'a%20b%22%C3', 'xyzkey-12', 'a b"\ufffd'])
    assert.equal(end(cut).trimEnd(), 'hello', cut)
  assert.equal(end('key-12345, key-12'), 'hello [secret], ')
})
