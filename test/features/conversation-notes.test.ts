import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from '../../src/core/call.ts'
import { makeId } from '../../src/core/message-id.ts'
import type { ServiceOf } from '../../src/core/operation.ts'
import { DAY } from '../../src/core/units.ts'
import type { conversations } from '../../src/engine/operations/messages.ts'
import { createConversationNotes } from '../../src/features/conversation-notes/service.ts'
import { createNotePlace } from '../../src/features/person/note-place.ts'
import { createIdentities, createReferences, type Person } from '../../src/features/person/person.ts'
import { createMemoryBackend, type StateEntry } from '../../src/runtime/state/backends.ts'
import { callOf } from '../engine/kit.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { messageOf } from '../runtime/support/message.ts'

const ADA: Caller = { kind: 'http', id: 'oidc:ada@example.com', roles: ['operator'] }
const CRM: Caller = { kind: 'http', id: 'token:crm', skills: ['conversation-*'] }

type ListArgs = Parameters<ServiceOf<typeof conversations>['list']>[0]

/** Notes in memory, in a journal with one message per conversation, at a time that tests set. */
function stage() {
  const clock = { now: Date.UTC(2026, 10, 29) }
  const now = () => clock.now
  const kv = createMemoryBackend(now, new Map<string, StateEntry>())
  const search = async ({ conversation }: { conversation?: string }) => ({
    found: [Object({ message: messageOf({ conversation: conversation ?? '' }) })],
  })
  const { service, withNotes, inList } = createConversationNotes({
    store: Object({ kv, journal: { search } }),
    retention: () => ({
      journal: { maxAge: 7 * DAY, maxCount: 1 },
      gateways: { short: { maxAge: DAY }, any: {} },
    }),
    log: createMemoryLog(),
    now,
  })
  const write = (gateway: string, conversation: string, text: string, caller = ADA) =>
    service.note({ gateway, conversation, text }, callOf({ caller }))
  const show = withNotes(async (_: { gateway: string; conversation: string }) => ({
    entries: [],
    next: undefined,
  }))
  const textsIn = async (gateway: string, conversation: string, call = callOf({ caller: ADA })) => {
    const { notes = [] } = Object(await show({ gateway, conversation }, call))
    return notes.map(({ text }: { text: string }) => text)
  }
  return { clock, kv, service, write, textsIn, inList }
}

test('notes are shown oldest first, in their own conversation only', async () => {
  const { clock, write, textsIn } = stage()
  for (const text of ['one', 'two', 'three']) {
    await write('chat', 'a', text)
    clock.now += 1
  }
  await write('chat', 'a/b', 'of a/b')
  await write('chat/a', 'b', 'of chat/a')
  assert.deepEqual(await textsIn('chat', 'a'), ['one', 'two', 'three'])
  assert.deepEqual(await textsIn('chat', 'a/b'), ['of a/b'])
  assert.deepEqual(await textsIn('chat/a', 'b'), ['of chat/a'])
})

test('a list of conversations has the number of their notes, and a search finds words in notes', async () => {
  const { clock, write, inList } = stage()
  await write('chat', 'a', 'ParcelOne lost it')
  clock.now += 1
  await write('chat', 'a', 'a refund is due')
  await write('chat', 'b', 'ask ParcelOne again')
  await write('shop', 'c', 'ParcelOne, too')
  const list = inList(async ({ search, gateway, conversation }: ListArgs) => {
    const all = [
      { id: '1', gateway: 'chat', conversation: 'a', at: 1 },
      { id: '2', gateway: 'chat', conversation: 'b', at: 2 },
      { id: '3', gateway: 'shop', conversation: 'c', at: 3 },
      { id: '4', gateway: 'shop', conversation: 'd', at: 4 },
    ]
    const isNamed = (row: (typeof all)[number]) =>
      row.gateway === (gateway ?? row.gateway) && row.conversation === (conversation ?? row.conversation)
    return { conversations: search ? [] : all.filter(isNamed) }
  })
  const shown = async (args: Partial<ListArgs>, caller: Caller = ADA, depth = 0) => {
    const call = callOf({ caller, depth })
    const { conversations } = await list({ limit: 50, ...args }, call)
    return conversations.map((row) => [row.conversation, Object(row).notes, Object(row).excerpt])
  }
  assert.deepEqual(await shown({}), [
    ['a', 2, undefined],
    ['b', 1, undefined],
    ['c', 1, undefined],
    ['d', undefined, undefined],
  ])
  const search = { words: ['parcelone'] }
  assert.deepEqual(await shown({ search }), [
    ['c', 1, 'Note: ParcelOne, too'],
    ['b', 1, 'Note: ask ParcelOne again'],
    ['a', 2, 'Note: ParcelOne lost it'],
  ])
  const ofChat: Caller = { ...ADA, gateways: ['chat'] }
  assert.deepEqual(
    (await shown({ search }, ofChat)).map(([name]) => name),
    ['b', 'a'],
  )
  assert.deepEqual(await shown({ search: { ...search, sender: 'ada' } }), [])
  assert.deepEqual(await shown({ search }, ADA, 1), [], 'skills do not read notes')
})

test('a search finds no more conversations than its limit, also by notes; the next page continues', async () => {
  const { clock, write, inList } = stage()
  for (const name of ['a', 'b', 'c']) {
    await write('chat', name, 'ParcelOne lost it')
    clock.now += 1
  }
  const rowOf = (name: string, at: number) => ({
    id: makeId(at, at, 0),
    gateway: 'chat',
    conversation: name,
    at,
  })
  const byText = ['z', 'y', 'x', 'w'].map((name, index) => rowOf(name, 1_000 - index))
  const list = inList(async ({ search, conversation = '', limit }: ListArgs) => {
    return { conversations: search ? byText.slice(0, limit) : [rowOf(conversation, 500)] }
  })
  const page = async (limit: number) => {
    const found = await list({ limit, search: { words: ['parcelone'] } }, callOf({ caller: ADA }))
    return {
      names: found.conversations.map(({ conversation }) => conversation).join(''),
      next: Object(found).next,
    }
  }
  assert.deepEqual(await page(10), { names: 'zyxwcba', next: undefined })
  assert.deepEqual(await page(5), { names: 'zyxcb', next: byText[2]?.id })
  assert.deepEqual(await page(4), { names: 'zycb', next: byText[1]?.id })
  assert.deepEqual(await page(1), { names: 'z', next: undefined })
})

test('skills neither get notes nor write them', async () => {
  const { service, write, textsIn } = stage()
  await write('chat', 'a', 'she is upset')
  const ofSkill = callOf({ caller: ADA, depth: 1 })
  const ofRoute = callOf({ caller: { kind: 'route', id: 'chat:petra', roles: ['operator'] } })
  for (const call of [ofSkill, ofRoute]) {
    assert.deepEqual(await textsIn('chat', 'a', call), [])
    const note = { gateway: 'chat', conversation: 'a', text: 'x' }
    await assert.rejects(service.note(note, call), { code: 'forbidden' })
  }
})

test('a program deletes only its own notes, and an operator any', async () => {
  const { service, write, textsIn } = stage()
  const ofAda = await write('chat', 'a', 'of Ada')
  const ofCrm = await write('chat', 'a', 'of the CRM', CRM)
  const other = await write('chat', 'a', 'another', CRM)
  const remove = (id: string, caller: Caller) => service['note-delete']({ id }, callOf({ caller }))
  await assert.rejects(remove(ofAda.id, CRM), { code: 'forbidden' })
  await assert.rejects(remove(other.id, { ...CRM, gateways: ['shop'] }), { code: 'forbidden' })
  await remove(ofCrm.id, CRM)
  await remove(other.id, { ...ADA, id: 'oidc:bob@example.com' })
  await assert.rejects(remove(other.id, ADA), { code: 'not_found' })
  assert.deepEqual(await textsIn('chat', 'a'), ['of Ada'])
})

test('a conversation has at most 100 notes', async () => {
  const { clock, service, write, textsIn } = stage()
  const { id } = await write('chat', 'a', 'first')
  for (let n = 1; n < 100; n++) await write('chat', 'a', `note ${n}`)
  clock.now += 1
  await assert.rejects(write('chat', 'a', 'too many'), {
    code: 'limit_reached',
    message: /the limit is 100\. Delete some/,
  })
  await write('chat', 'b', 'elsewhere')
  await service['note-delete']({ id }, callOf({ caller: ADA }))
  await write('chat', 'a', 'last')
  assert.equal((await textsIn('chat', 'a')).at(-1), 'last')
})

test('notes are kept as long as messages of their gateway', async () => {
  const { clock, write, textsIn } = stage()
  for (const gateway of ['short', 'any']) await write(gateway, 'a', 'old')
  clock.now += DAY
  assert.deepEqual(await textsIn('short', 'a'), [])
  assert.deepEqual(await textsIn('any', 'a'), ['old'])
  clock.now += 6 * DAY
  assert.deepEqual(await textsIn('any', 'a'), [])
})

test('the erasure of a person removes the notes about them, and their name from their own notes', async () => {
  const { clock, kv, write, textsIn } = stage()
  const petra: Person = {
    identities: ['*:petra@example.com'],
    messages: new Set(),
    conversations: new Set(['chat/of-petra']),
    files: new Set(),
  }
  const about = createReferences(
    petra,
    createIdentities(petra.identities, () => false),
  )
  await write('chat', 'of-petra', 'she is upset')
  await write('chat', 'of-bob', 'also wrote as petra@example.com')
  await write('chat', 'of-bob', 'is a friend')
  const ofPetra = await write('chat', 'of-bob', 'I know him', { ...ADA, id: 'oidc:petra@example.com' })
  const place = createNotePlace(kv)
  const subject = { person: petra, about }
  const exported = await Array.fromAsync(place.records(subject))
  assert.equal(exported.length, 3)
  assert.deepEqual(
    exported.map(Object).find(({ id }) => id === ofPetra.id),
    {
      id: ofPetra.id,
      at: clock.now,
      by: 'oidc:petra@example.com',
    },
  )
  const erase = async () =>
    (await Array.fromAsync(place.erase(subject))).reduce((sum, { count }) => sum + count, 0)
  assert.equal(await erase(), 3)
  assert.equal(await erase(), 0)
  assert.deepEqual(await textsIn('chat', 'of-petra'), [])
  assert.deepEqual((await textsIn('chat', 'of-bob')).toSorted(), ['I know him', 'is a friend'])
  assert.doesNotMatch(JSON.stringify(await kv.get(`conversation-note:${ofPetra.id}`)), /petra/)
  clock.now += 7 * DAY
  assert.deepEqual(await textsIn('chat', 'of-bob'), [], 'an anonymous note still expires')
})
