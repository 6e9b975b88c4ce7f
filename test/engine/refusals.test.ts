import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silent } from '../../src/core/log.ts'
import { createRefusals } from '../../src/engine/refusals.ts'

test('unsent replies and bounces are listed, but do not count as refused deliveries', () => {
  const counted: string[] = []
  const refusals = createRefusals({
    count: (_gateway, reason) => void counted.push(reason),
    secrets: () => [],
    log: silent,
    now: () => 1_000_000,
  })
  const reasons = ['reply:list', 'bounce', 'signature_invalid']
  for (const reason of reasons) refusals.add('mail', reason)
  assert.deepEqual(counted, reasons)
  assert.equal(refusals.list(['mail']).length, 3)
  assert.deepEqual(
    refusals.counts().map(({ reason }) => reason),
    ['signature_invalid'],
  )
  const { refused } = refusals.traffic('mail')
  assert.equal(
    refused.reduce((total, count) => total + count),
    1,
  )
})

test('requests with a method that is not served are listed once, and do not count as refused deliveries', () => {
  const refusals = createRefusals({
    count: () => undefined,
    secrets: () => [],
    log: silent,
    now: () => 1_000_000,
  })
  refusals.add('shop', 'signature_invalid')
  for (let n = 1; n <= 60; n++) refusals.add('shop', 'method_not_allowed', { why: `check ${n}` })
  assert.deepEqual(
    refusals.list(['shop']).map(({ reason, why }) => [reason, why]),
    [
      ['method_not_allowed', 'check 60'],
      ['signature_invalid', undefined],
    ],
  )
  assert.deepEqual(
    refusals.counts().map(({ reason, count }) => [reason, count]),
    [['signature_invalid', 1]],
  )
  assert.equal(
    refusals.traffic('shop').refused.reduce((total, count) => total + count),
    1,
  )
})

test('no part of a secret is listed, also if the kept body is cut within it and is shortened by redaction', () => {
  const secret = 'SUPERSECRETVALUE0123456789'
  const refusals = createRefusals({
    count: () => undefined,
    secrets: () => [secret],
    log: silent,
    now: () => 1_000_000,
  })
  const cut = `token=${'t'.repeat(1_600)}&b=${'c'.repeat(370)}${secret} and more`
  for (const body of [cut, Buffer.from(cut)]) refusals.add('shop', 'signature_invalid', { body })
  refusals.add('shop', 'signature_invalid', { body: `whole: S` })
  const bodies = refusals.list(['shop']).map(({ body }) => body)
  const shown = `token=[secret]&b=${'c'.repeat(370)}`
  assert.deepEqual(bodies, ['whole: S', shown, shown])
})
