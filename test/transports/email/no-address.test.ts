import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { replyTarget } from '../../../transports/email/reply-target.ts'

async function targetOf(...head: string[]) {
  const raw = Buffer.from([...head, 'Subject: Hello', '', 'Hello'].join('\r\n'))
  const identity = { result: 'pass', by: 'dkim', detail: '' } as const
  const facts = { own: new Set(['bot@example.com']), auto: undefined, identity, isAddressed: true }
  return replyTarget(await parseMail(raw), {
    ...facts,
    allowed: () => true,
    receivedAt: 0,
    now: 0,
    maxAge: 1,
  })
}

describe('a header without an address', () => {
  for (const from of [
    '',
    'From: ',
    'From: Ada',
    'From: undisclosed-recipients:;',
    'From: <@example.net>',
    'From: "a b"@example.net',
  ]) {
    test(`as From prevents a reply: ${from || 'missing'}`, async () => {
      assert.equal((await targetOf(from || 'X-Nothing: 1')).suppress, 'no-sender')
    })
  }

  test('as Reply-To, To or Cc does not prevent a reply', async () => {
    const target = await targetOf(
      'From: ada@example.net',
      'Reply-To: nobody',
      'To: bot@example.com, undisclosed-recipients:;',
      'Cc: Bea, cora@example.net',
    )
    assert.deepEqual([target.to, target.suppress], ['ada@example.net', undefined])
    assert.deepEqual(
      target.others?.cc.map(({ address }) => address),
      ['cora@example.net'],
    )
  })
})
