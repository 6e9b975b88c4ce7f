import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR } from '../../../src/core/units.ts'
import { createConversations } from '../../../transports/email/inbound/conversation.ts'
import { createHumanReplies } from '../../../transports/email/inbound/human-replies.ts'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { emailOptions } from '../../../transports/email/options.ts'
import { createSentLog } from '../../../transports/email/sent-log.ts'
import { startTransportFixture } from '../../fixtures/transport-deps.ts'
import { mail } from './harness.ts'

test('an answer of a person pauses the conversation until someone resumes it, if so configured', async (t) => {
  const { deps, takenOver, close } = await startTransportFixture()
  t.after(close)
  const sent = createSentLog(deps.kv, 'test')
  const findConversation = createConversations(deps.kv, 'test', sent, 1000)
  const server = { host: 'localhost' }
  const base = { address: 'support@example.com', imap: server, smtp: server, sent: { folder: 'Sent' } }
  for (const [limit, id] of [
    ['resume', 'a@example.com'],
    ['4h', 'b@example.com'],
  ]) {
    const { handover } = emailOptions.parse({ ...base, handover: { when: 'on-human-reply', for: limit } })
    assert.ok(handover && id)
    const ingest = createHumanReplies({ handover, own: new Set(), deps, sent, findConversation })
    const raw = Buffer.from(mail({ subject: 'Re: Help', id, headers: { 'In-Reply-To': '<x@example.net>' } }))
    await ingest([{ size: raw.length, internalDate: 0, raw, mail: await parseMail(raw) }])
  }
  assert.deepEqual(
    takenOver.map((pause) => pause.for),
    [undefined, 4 * HOUR],
  )
})

test('an answer of a person in an unknown conversation is not remembered', async (t) => {
  const { deps, close } = await startTransportFixture()
  t.after(close)
  const sent = createSentLog(deps.kv, 'test')
  const findConversation = createConversations(deps.kv, 'test', sent, 1000)
  const handover = { for: 1000, drop: false }
  const own = new Set(['support@example.com'])
  const ingest = createHumanReplies({ handover, own, deps, sent, findConversation })
  const answer = mail({
    from: 'support@example.com',
    subject: 'Re: Help',
    id: 'answer@example.com',
    headers: { 'In-Reply-To': '<unknown@example.net>' },
  })
  const raw = Buffer.from(answer)
  await ingest([{ size: raw.length, internalDate: 0, raw, mail: await parseMail(raw) }])

  const identity = { result: 'none', by: 'unsigned', detail: '' } as const
  const conversationOfReplyTo = async (id: string) => {
    const reply = mail({ id: 'later@example.net', headers: { 'In-Reply-To': `<${id}>` } })
    return (await findConversation(await parseMail(Buffer.from(reply)), identity)).conversation
  }
  // If the answer had been remembered, both replies would be in the same conversation.
  const ofReplyToAnswer = await conversationOfReplyTo('answer@example.com')
  const ofReplyToUnknown = await conversationOfReplyTo('unknown@example.net')
  assert.notEqual(ofReplyToAnswer, ofReplyToUnknown)
})
