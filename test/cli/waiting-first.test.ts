import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitingFirst } from '../../src/cli/waiting-first.ts'
import { type Json, type JsonObject, objectsIn, pathGet } from '../../src/core/json.ts'
import { humanConversations } from '../../src/engine/print/conversation-list.ts'

const rows = (names: string[]) => names.map((name) => ({ id: name, gateway: 'shop', conversation: name }))
const newest = rows(['a', 'b', 'c', 'd'])
const waiting = rows(['w1', 'w2', 'w3']).map((row, index) => ({ ...row, waitingSince: index }))

const ALL = { count: 3, more: false }

async function listed(limit: number, more: JsonObject = {}) {
  const invoke = async (_: string, args: unknown): Promise<Json> => {
    const all = pathGet(args, 'unanswered') === true ? waiting.toReversed() : newest
    const page = all.slice(0, Number(pathGet(args, 'limit')))
    return { conversations: page, ...(page.length < all.length && { next: page.at(-1)?.id ?? null }) }
  }
  const page = await waitingFirst({ invoke }, { limit, ...more })
  const names = objectsIn(pathGet(page, 'conversations')).map(({ id }) => id)
  return { names, next: pathGet(page, 'next'), waiting: pathGet(page, 'waiting') }
}

test('conversations that wait come first, and a list has at most as many rows as wanted', async () => {
  assert.deepEqual(await listed(4), { names: ['w1', 'w2', 'w3', 'a'], next: 'a', waiting: undefined })
})

test('a list without room for all that wait shows no others', async () => {
  assert.deepEqual(await listed(2), { names: ['w1', 'w2'], next: undefined, waiting: ALL })
  assert.deepEqual(await listed(1), { names: ['w1'], next: undefined, waiting: ALL })
})

test('a list with just room for all that wait says that there are others', async () => {
  const invoke = async (_: string, args: unknown): Promise<Json> => ({
    conversations: pathGet(args, 'unanswered') === true ? waiting : newest,
  })
  const list = await waitingFirst({ invoke }, { limit: 3 })
  assert.deepEqual(list, { conversations: waiting, moreOthers: true })
  const { notes } = Object(humanConversations(list, { limit: 3 }))
  assert.deepEqual(notes, [
    'Others, in which nobody waits: trivium conversation list --all --limit 6'.replace(/trivium.*/, '`$&`'),
  ])
})

test('those that wait for a person come first, then those that somebody has taken over', async () => {
  const waits = (id: string, waitingSince: number, more: JsonObject) => ({
    ...{ id, gateway: 'shop', conversation: id, waitingSince },
    ...more,
  })
  const all = [
    waits('approval', 1, { outcome: 'approval' }),
    waits('dead', 2, { outcome: 'dead' }),
    waits('taken', 3, { outcome: 'done', heldBy: { by: 'ada' } }),
    waits('late', 5, { outcome: 'unrouted' }),
    waits('early', 4, { outcome: 'done' }),
  ]
  const invoke = async (): Promise<Json> => ({ conversations: all })
  for (const args of [{}, { unanswered: true }]) {
    const list = await waitingFirst({ invoke }, args)
    const order = ['early', 'late', 'taken', 'approval', 'dead']
    assert.deepEqual(
      objectsIn(pathGet(list, 'conversations')).map(({ id }) => id),
      order,
    )
    const lines = String(humanConversations(list)).trimEnd().split('\n').slice(1)
    assert.deepEqual(
      lines.map((line) => line.split('\t').at(-1)),
      order,
    )
  }
})

test('a list of those that wait has the longest waits, whatever the limit', async () => {
  const unanswered = { unanswered: true }
  assert.deepEqual(await listed(2, unanswered), { names: ['w1', 'w2'], next: undefined, waiting: ALL })
  assert.deepEqual(await listed(3, unanswered), {
    names: ['w1', 'w2', 'w3'],
    next: undefined,
    waiting: undefined,
  })
})

test('a list of some that wait has no next page, which would leave out those between', async () => {
  const many = rows(Array.from({ length: 60 }, (_, n) => `w${n}`))
  const all = many.map((row, index) => ({ ...row, waitingSince: 60 - index }))
  const invoke = async (_: string, args: unknown): Promise<Json> => {
    const begin = all.findIndex(({ id }) => id === pathGet(args, 'before')) + 1
    const page = all.slice(begin, begin + Number(pathGet(args, 'limit')))
    return { conversations: page, ...(page.at(-1) !== all.at(-1) && { next: page.at(-1)?.id ?? null }) }
  }
  const list = async (args: JsonObject) => Object(await waitingFirst({ invoke }, args))
  const some = await list({ limit: 10, unanswered: true })
  assert.equal(some.conversations.length, 10)
  assert.deepEqual([some.next, some.waiting], [undefined, { count: 50, more: true }])
  const first = await list({ limit: 50, unanswered: true })
  const second = await list({ limit: 50, unanswered: true, before: first.next })
  assert.equal(new Set([...first.conversations, ...second.conversations].map(({ id }) => id)).size, 60)
})

test('the next page begins after a row that a message gave its place', async () => {
  const answered = (name: string) => ({ ...newest[0], id: name, conversation: name, answeredAt: 1 })
  const [a = {}, b = {}, ...others] = newest
  const pages = {
    last: [a, b, answered('x'), ...others],
    alone: [answered('x'), answered('y'), answered('z'), a, b],
  }
  const listOf = async (page: JsonObject[]) => {
    const invoke = async (_: string, args: unknown): Promise<Json> =>
      pathGet(args, 'unanswered') === true
        ? { conversations: waiting.slice(0, 1) }
        : { conversations: page, next: 'end' }
    const list = await waitingFirst({ invoke }, { limit: 4 })
    const names = objectsIn(pathGet(list, 'conversations')).map(({ id }) => id)
    return { names, next: pathGet(list, 'next') }
  }
  assert.deepEqual((await listOf(pages.last)).next, 'b')
  assert.deepEqual(await listOf(pages.alone), { names: ['w1', 'x', 'y', 'a'], next: 'a' })
})
