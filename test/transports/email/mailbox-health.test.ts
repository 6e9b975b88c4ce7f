import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type FolderState, healthOf } from '../../../transports/email/mailbox/health.ts'

const read = (changes: Partial<FolderState> = {}): FolderState => ({
  progressAt: 60_000,
  wasRead: true,
  aside: [],
  ...changes,
})
const health = (states: Record<string, FolderState>) =>
  healthOf(new Map(Object.entries(states)), 30_000, 61_000)

describe('the health of a mailbox', () => {
  test('names the folders that are read', () => {
    assert.deepEqual(health({ INBOX: read(), Sales: read() }), { ok: true, detail: 'reading INBOX, Sales' })
  })

  test('has a warning for an error of a folder that was read before, since it may be temporary', () => {
    const { ok, warning } = health({ INBOX: read({ error: 'connection lost' }), Sales: read() })
    assert.equal(ok, true)
    assert.match(String(warning), /INBOX cannot be read: connection lost; trying again/)
  })

  test('is red for a folder that was never read or is silent, also after one with a temporary error', () => {
    const temporary = read({ error: 'connection lost' })
    const missing = health({ INBOX: temporary, Sales: read({ wasRead: false, error: 'no such folder' }) })
    assert.equal(missing.ok, false)
    assert.match(String(missing.detail), /Sales cannot be read: no such folder/)
    const silent = health({ INBOX: temporary, Sales: read({ progressAt: 0 }) })
    assert.equal(silent.ok, false)
    assert.equal(silent.detail, 'Sales cannot be read')
    assert.equal(silent.since, 0)
  })
})
