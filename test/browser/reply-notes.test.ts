import assert from 'node:assert/strict'
import { test } from 'node:test'

const url = new URL('../../src/console/lib/reply-notes.js', import.meta.url)
const { lastReplyNote, letterOfNote, undeliveredNote } = await import(url.href)

const outbox = (at: number, what: string, detail: object) => ({ at, road: 'outbox', what, detail })
const dead = outbox(1, 'dead', { key: 'm1:team:0', error: 'no such mailbox' })

test('a reply that was sent after a retry counts as sent', () => {
  const sent = outbox(3, 'sent', { key: 'm1:team:0' })
  const retried = outbox(2, 'retried early', { by: 'ada' })
  assert.equal(lastReplyNote([dead, retried]), dead)
  assert.equal(lastReplyNote([dead, retried, sent]), sent)
  // The note of a mail follows when its dead letter is dropped, with the time of the mail.
  assert.equal(lastReplyNote([sent, outbox(2, 'not delivered', { key: 'mail' })]), sent)
  assert.equal(undeliveredNote([dead, retried, sent]), dead)
})

test('a reply that was not delivered has its dead letter until somebody drops it', () => {
  assert.deepEqual(letterOfNote(dead, [dead]), { id: 'outbox:m1:team:0' })
  const other = outbox(2, 'dropped', { id: 'outbox:m1:team:1', by: 'bob' })
  const dropped = outbox(3, 'dropped', { id: 'outbox:m1:team:0', by: 'ada' })
  assert.deepEqual(letterOfNote(dead, [dead, other]), { id: 'outbox:m1:team:0' })
  assert.deepEqual(letterOfNote(dead, [dead, other, dropped]), { id: 'outbox:m1:team:0', droppedBy: 'ada' })
})
