import assert from 'node:assert/strict'
import { test } from 'node:test'
import { email } from '../../transports/email/index.ts'
import { slack } from '../../transports/slack/index.ts'

test('an error says whether later answers to the same place fail too, and what to do', () => {
  const about = (kind: typeof email | typeof slack, error: string) => kind.unreachable?.(error)
  for (const error of [
    "Can't send mail - all recipients were rejected: 550 5.1.1 The mailbox ada@example.com does not exist",
    '550 No such user here',
    '550 #5.1.0 Address rejected. User unknown',
  ])
    assert.match(about(email, error) ?? '', /does not exist; send it to another address/)
  for (const error of [
    '552 5.2.2 mailbox full',
    '554 5.7.1 message refused as spam',
    '550 5.1.8 <shop@example.com>: Sender address rejected: Domain not found',
    '550-5.7.25 [192.0.2.7] The sending IP address is unknown: its PTR record does not exist',
    'connect ECONNREFUSED',
  ])
    assert.equal(about(email, error), undefined, error)
  assert.match(
    about(slack, 'Gateway team permanently rejected the message: is_archived') ?? '',
    /unarchive it/,
  )
  assert.match(about(slack, 'not_in_channel') ?? '', /invite it/)
  assert.equal(about(slack, 'msg_too_long'), undefined)
})
