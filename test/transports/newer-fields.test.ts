import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createMemoryBackend } from '../../src/runtime/state/backends.ts'
import { createSentLog } from '../../transports/email/sent-log.ts'
import { createChannels } from '../../transports/slack/gaps/channels.ts'
import { createStreamRecords } from '../../transports/slack/outbound/stream-records.ts'
import { silent } from '../contract/store/kit.ts'

describe('while two versions run, the older one keeps the fields of the newer one in', () => {
  const setup = async (key: string, stored: object) => {
    const kv = createMemoryBackend(Date.now, new Map())
    await kv.set(key, Object(stored))
    return { kv, read: async () => (await kv.get(key))?.value }
  }

  test('the record of a sent mail', async () => {
    const mark = '0'.repeat(40)
    const stored = { state: 'sending', key: 'k', at: 1, to: 'ada@example.com', conversation: 'c', queue: 'q' }
    const { kv, read } = await setup(`email/support/sent/${mark}`, stored)
    await createSentLog(kv, 'support').confirm(mark)
    assert.deepEqual(await read(), { ...stored, state: 'sent' })
  })

  test('the record of a Slack channel', async () => {
    const stored = {
      team: 'T',
      channel: 'C',
      all: true,
      mentions: false,
      first: 1,
      active: { 1: 1 },
      topic: 'x',
    }
    const { kv, read } = await setup('slack/team/seen/T/C', stored)
    const channels = createChannels({ kv, log: silent, gateway: 'team' }, 1_000, () => undefined)
    channels.remember({ team: 'T', channel: 'C', all: true, mentions: false, first: 1, active: { 2: 2 } })
    await channels.save()
    assert.deepEqual(await read(), { ...stored, active: { 1: 1, 2: 2 } })
  })

  test('the record of a Slack stream', async () => {
    const { kv, read } = await setup('slack/team/stream/m', { busyUntil: 5, shownTo: 'U' })
    const records = createStreamRecords({ gateway: 'team', kv })
    const record = await records.read('m')
    assert.ok(record)
    await records.keep('m', { claimedBy: 'reply' }, record)
    assert.deepEqual(await read(), { claimedBy: 'reply', shownTo: 'U' })
  })
})
