import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { timeOf } from '../../src/core/message-id.ts'
import type { Journal } from '../../src/core/store.ts'
import { createConversations } from '../../src/engine/conversations.ts'
import { createLastMessage } from '../../src/engine/last-message.ts'
import { createLastGood } from '../../src/features/troubles/troubles.ts'
import { openStore } from '../runtime/support/store.ts'

/** A store whose searches look at one message per page. The first message is the only one of `old`. */
async function openSlow(t: TestContext) {
  const store = await openStore(t)
  const say = (gateway: string, text: string) => ({
    gateway,
    transport: 'email',
    from: { id: text },
    conversation: `${gateway}/${text}`,
    text,
    data: {},
  })
  const [first] = await store.journal.accept([
    say('old', 'a'),
    say('busy', 'b'),
    say('busy', 'c'),
    say('busy', 'd'),
  ])
  const search: Journal['search'] = async ({ before, limit, ...query }) => {
    const { found, next } = await store.journal.search({ before, limit: 1 })
    const matches = found.filter(({ message: { gateway, conversation } }) => {
      const isWanted = query.conversation === undefined || query.conversation === conversation
      return isWanted && (query.gateways?.includes(gateway) ?? true)
    })
    return { found: matches.slice(0, limit), ...(next && { next }) }
  }
  return { store: { ...store, journal: { ...store.journal, search } }, first }
}

test('the last message of a gateway is found in an older part of the journal, call by call', async (t) => {
  const { store, first } = await openSlow(t)
  const lastMessageOf = createLastMessage(store.journal)
  const isFound = async () => (await lastMessageOf('old')).at !== undefined
  assert.ok((await lastMessageOf('old')).searchedTo)
  while (!(await isFound())) {}
  assert.equal((await lastMessageOf('old')).at, timeOf(String(Object(first).id)))
  const withLastGood = createLastGood(store.journal)
  const refusal = { gateway: 'old' } as never
  while ((await withLastGood(refusal)).lastGoodAt === undefined) {}
})

test('somebody who waits is found although newer messages fill the first page of the search', async (t) => {
  const { store } = await openSlow(t)
  const { list } = createConversations({
    store,
    answerable: () => ['old', 'busy'],
    unanswerable: () => undefined,
    unreachable: () => undefined,
    isOneOff: () => false,
    holdOf: () => undefined,
  })
  const call = { caller: { kind: 'operator' } } as never
  const { conversations } = Object(await list({ unanswered: true, limit: 10 }, call))
  assert.deepEqual(
    conversations.map(({ text }: { text: string }) => text),
    ['d', 'c', 'b', 'a'],
  )
})
