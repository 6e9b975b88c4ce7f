import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createReplyLog } from '../../../src/engine/submit.ts'
import { createMemoryStore } from '../../fixtures/memory-store.ts'
import { until } from '../../fixtures/until.ts'
import { openStore } from '../../runtime/support/store.ts'
import { startWebsocket } from './harness.ts'

describe('resuming a conversation', () => {
  test('reports the number of replies that retention removed', async (t) => {
    const embedded = await openStore(t)
    const store = { ...createMemoryStore(), replies: createReplyLog(embedded, 'test') }
    const { connect, reply } = await startWebsocket({}, { store })
    const { conversation } = await connect()
    for (const text of ['one', 'two', 'three', 'four']) await reply(conversation, text)
    const trimTo = (maxCount: number) => embedded.trim({ journal: { maxAge: 60_000, maxCount } })
    await trimTo(1)
    const back = await connect(`?conversation=${conversation}&after=1`)
    const { missed, seq } = await back.next('gap')
    assert.deepEqual([missed, seq, (await back.next('message')).seq], [2, 3, 4])
    await trimTo(0)
    const late = await connect(`?conversation=${conversation}&after=1`)
    assert.equal((await late.next('gap')).missed, 3)
    await reply(conversation, 'five')
    assert.deepEqual([(await late.next('message')).seq, late.frames], [5, []])
  })

  test('starts with the next reply without `after`, or if `after` is beyond the end', async () => {
    const { connect, reply } = await startWebsocket()
    const first = await connect()
    await reply(first.conversation, 'one')
    await first.next('message')
    const plain = await connect(`?conversation=${first.conversation}`)
    const beyond = await connect(`?conversation=${first.conversation}&after=99`)
    assert.deepEqual([plain.welcome.seq, beyond.welcome.seq], [1, 1])
    await reply(first.conversation, 'two')
    for (const client of [plain, beyond]) assert.equal((await client.next('message')).text, 'two')
  })

  test('delivers each reply once, in order, across many reconnections to two daemons', async () => {
    const store = createMemoryStore()
    const { connect, reply } = await startWebsocket({}, { store })
    const there = await startWebsocket({}, { store })
    let client = await connect()
    const { conversation } = client
    const received: number[] = []
    const total = 300
    const sending = (async () => {
      for (let index = 1; index <= total; index++) {
        await reply(conversation, String(index))
        if (index % 7 === 0) await new Promise(setImmediate)
      }
    })()
    while (received.length < total) {
      await until(() => client.frames.length > 0, 'more replies')
      client.socket.terminate()
      for (const { seq } of client.frames) received.push(seq ?? 0)
      const daemon = received.length % 2 ? there : { connect }
      client = await daemon.connect(`?conversation=${conversation}&after=${received.at(-1) ?? 0}`)
    }
    await sending
    assert.deepEqual(
      received,
      Array.from({ length: total }, (_, index) => index + 1),
    )
  })

  test('refuses conversations that are invented, altered, or of another gateway', async () => {
    const store = createMemoryStore()
    const { connect, refusal } = await startWebsocket({}, { store })
    const other = await startWebsocket({}, { store, gateway: 'other' })
    const { conversation } = await connect()
    const foreign = await other.connect()
    const flipped = conversation.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))
    const bad = ['abc', '1', '../x', `${'A'.repeat(22)}.${'A'.repeat(16)}`, flipped, foreign.conversation]
    for (const wanted of bad) {
      const answer = await refusal(`?conversation=${encodeURIComponent(wanted)}`)
      assert.equal(answer.status, 403, wanted)
      assert.match(answer.text, /forbidden/)
    }
    assert.equal((await refusal('?after=-1')).status, 400)
    assert.equal((await refusal('?after=x')).status, 400)
  })

  test('is possible only with the token of the conversation', async () => {
    const { connect, refusal, reply } = await startWebsocket({ tokens: { alice: 'ta', bob: 'tb' } })
    const alice = await connect('?token=ta')
    assert.equal((await refusal(`?token=tb&conversation=${alice.conversation}`)).status, 403)
    const notes = await connect('?token=ta&conversation=notes')
    assert.equal(notes.conversation, 'test:alice:notes')
    assert.equal((await refusal('?token=tb&conversation=test:alice:notes')).status, 403)
    const bobs = await connect('?token=tb&conversation=notes')
    assert.equal(bobs.conversation, 'test:bob:notes')
    await reply(notes.conversation, 'for alice')
    await notes.next('message')
    assert.equal(bobs.frames.length, 0)
    const again = await connect('?token=ta&conversation=test:alice:notes&after=0')
    assert.equal((await again.next('message')).text, 'for alice')
  })

  test('continues after the reply log was unavailable', async () => {
    const store = createMemoryStore()
    const read = store.replies.read
    const { connect, reply, deps } = await startWebsocket({}, { store })
    const client = await connect()
    let failures = 0
    deps.replies.read = async () => {
      failures++
      throw new Error('away')
    }
    await reply(client.conversation, 'one')
    await until(() => failures > 0, 'a read that fails')
    deps.replies.read = read
    assert.equal((await client.next('message')).text, 'one')
  })
})
