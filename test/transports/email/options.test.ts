import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { emailOptions } from '../../../transports/email/options.ts'

/** The options that are refused. */
const placesOf = (options: object) => {
  const servers = { address: 'support@example.com', imap: { host: 'x' }, smtp: { host: 'x' } }
  return (emailOptions.safeParse({ ...servers, ...options }).error?.issues ?? []).map(({ path }) =>
    path.join('.'),
  )
}

describe('the folders of a mailbox', () => {
  test('that are read cannot be where mail is moved, which would never end', () => {
    const cases: [object, string][] = [
      [{ folders: ['INBOX', 'Done'], after: { move: 'Done' } }, 'after.move'],
      [{ folders: ['INBOX', 'Done'], quarantine: 'Done' }, 'quarantine'],
      [{ quarantine: 'inbox' }, 'quarantine'],
    ]
    for (const [options, place] of cases) assert.deepEqual(placesOf(options), [place])
    const good = { folders: ['INBOX', 'Orders'], after: { move: 'INBOX/Done' }, quarantine: 'Orders/Bad' }
    assert.deepEqual(placesOf(good), [])
  })
})
