import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silent } from '../../src/core/log.ts'
import { usableOf } from '../../src/features/push/stored-subscriptions.ts'

test('a stored subscription with a header that is refused now goes on without it, and the log says so', () => {
  const warnings: unknown[] = []
  const log = { ...silent, warn: (fields: unknown) => void warnings.push(fields) }
  const given = {
    url: 'https://crm.example.com/in',
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    headers: { Host: 'other.example.com', 'X-Tenant': 'a' },
  }
  const [subscription] = usableOf({ crm: { given, by: 'control', at: 0 } }, log)
  assert.deepEqual(subscription?.headers, { 'X-Tenant': 'a' })
  assert.deepEqual(warnings, [{ subscription: 'crm', headers: ['Host'] }])
})
