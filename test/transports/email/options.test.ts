import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { emailOptions } from '../../../transports/email/options.ts'

const issuesOf = (options: object) => {
  const servers = { address: 'support@example.com', imap: { host: 'x' }, smtp: { host: 'x' } }
  const { error } = emailOptions.safeParse({ ...servers, ...options })
  return (error?.issues ?? []).map(({ path, message }) => [path.join('.'), message.split(':', 1)[0]])
}
const refused = (place: string) => [[place, 'expected a folder that is not read']]

describe('the folders of a mailbox', () => {
  test('that are read cannot be where dealt with or refused mail is moved, which would never end', () => {
    const folders = ['INBOX', 'Done']
    assert.deepEqual(issuesOf({ folders, after: { move: 'Done' } }), refused('after.move'))
    assert.deepEqual(issuesOf({ folders, quarantine: 'Done' }), refused('quarantine'))
    assert.deepEqual(issuesOf({ quarantine: 'inbox' }), refused('quarantine'))
  })

  test('are the same under each name that a server may know them by', () => {
    const same: [string, string][] = [
      ['INBOX.Done', 'Done'],
      ['Archive/Done', 'Archive.Done'],
      ['Inbox/Archive.Done', 'Archive/Done'],
    ]
    for (const [read, move] of same) {
      assert.deepEqual(issuesOf({ folders: [read], after: { move } }), refused('after.move'), read)
    }
  })

  test('may be others than those that mail is moved to', () => {
    const options = { folders: ['INBOX', 'Orders'], after: { move: 'INBOX/Done' }, quarantine: 'Orders/Bad' }
    assert.deepEqual(issuesOf(options), [])
    assert.deepEqual(issuesOf({ folders: ['INBOX'], after: 'delete' }), [])
  })
})
