import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConversations } from '../../../transports/email/inbound/conversation.ts'
import { createHumanReplies } from '../../../transports/email/inbound/human-replies.ts'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { createSentLog } from '../../../transports/email/sent-log.ts'
import { startTransportFixture } from '../../fixtures/transport-deps.ts'
import { mail } from './harness.ts'

test('an answer of a person in an unknown conversation is not remembered', async (t) => {
  const { deps, close } = await startTransportFixture()
  t.after(close)
  const sent = createSentLog(deps.kv, 'test')
  const findConversation = createConversations(deps.kv, 'test', sent, 1000)
  const handover = { for: undefined, drop: false }
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
  const byId = async (headers: Record<string, string>) =>
    findConversation(await parseMail(Buffer.from(mail({ id: 'later@example.net', headers }))), identity)
  const later = await byId({ 'In-Reply-To': '<answer@example.com>' })
  const first = await byId({ 'In-Reply-To': '<unknown@example.net>' })
  assert.notEqual(later.conversation, first.conversation)
})
