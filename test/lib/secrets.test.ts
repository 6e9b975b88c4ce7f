import assert from 'node:assert/strict'
import { test } from 'node:test'
import { headOf } from '../../src/lib/head-of.ts'
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

test('a secret is recognised whichever of its characters are URL-encoded', () => {
  for (const written of ['a/b=c+ö', 'a%2fb%3Dc%2B%c3%b6', 'a/b=c%2bö', 'a%2Fb=c%2B%C3%B6', '%61/b=c+ö'])
    assert.equal(
      withoutSecrets(`GET /hook/${written}/x%20y`, ['a/b=c+ö']),
      'GET /hook/[secret]/x%20y',
      written,
    )
})

test('a secret with characters that JSON escapes is recognised in an encoded text', () => {
  for (const written of ['"a b"1', '\\"a b\\"1', '%22a+b%221', '\\"a%20b%22%31', '%22%61%20%62\\"1'])
    assert.equal(withoutSecrets(`100%25 of ${written}.`, ['"a b"1', '-_-']), '100%25 of [secret].', written)
  assert.equal(withoutSecrets('at %2d_%2D', ['-_-']), 'at [secret]')
})

test('texts with URL-encoded characters are searched for many secrets in a short time', () => {
  const secrets = Array.from({ length: 60 }, (_, index) => `whsec_${index}_${'abcdefgh'.repeat(40)}`)
  const began = performance.now()
  for (let line = 0; line < 1_000; line++) withoutSecrets(`GET /a%20b?line=${line}&share=50%`, secrets)
  assert.ok(performance.now() - began < 10_000)
})

test('the beginning of a secret before the mark of a cut is redacted', () => {
  const secrets = ['key-12345', 'a/b=c+']
  const text = headOf(`the token ${'key-12345'.repeat(2)}`, 25)
  assert.equal(withoutSecrets(text, secrets), 'the token [secret][secret] [3 characters omitted]')
  assert.equal(withoutSecrets('at /hook/a/b=… and key…', secrets), 'at /hook/[secret]… and key…')
})
