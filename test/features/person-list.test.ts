import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Message } from '../../src/core/message.ts'
import { makeId } from '../../src/core/message-id.ts'
import { createMatcher } from '../../src/core/message-query.ts'
import type { Store } from '../../src/core/store.ts'
import { humanPeople } from '../../src/engine/print/person-list.ts'
import { createPersonList } from '../../src/features/person/list.ts'
import { personList } from '../../src/features/person/operations.ts'
import { callOf } from '../engine/kit.ts'

const AT = 1_790_000_000_000
const call = callOf({ caller: { kind: 'http' } })

/** A message of a sender, `minute` minutes after the first. */
function from(minute: number, gateway: string, sender: Partial<Message['from']> & { id: string }): Message {
  return {
    id: makeId(AT + minute * 60_000, minute, 0),
    gateway,
    transport: 'webhook',
    conversation: String(minute),
    from: { verified: true, ...sender },
    text: 'hello',
    data: {},
    trace: '',
    attachments: [],
    receivedAt: AT,
  }
}

/** A journal of these messages, oldest first, that reads this many at a time. */
function listOf(messages: readonly Message[], { page = 2, now }: { page?: number; now?: () => number } = {}) {
  const search: Store['journal']['search'] = async ({ before, limit, ...query }) => {
    const matches = createMatcher(query)
    const all = messages.toReversed().filter(({ id }) => before === undefined || id < before)
    const read = all.slice(0, Math.min(page, limit))
    const next = all.length > read.length ? read.at(-1)?.id : undefined
    const found = read.filter(matches).map((message) => ({ message, outcome: 'done' as const }))
    return { found, ...(next && { next }) }
  }
  const { list } = createPersonList({ journal: { search }, requireGateways: async () => {} }, now)
  return (args: object = {}, by = call) => list(personList.list.parse(args), by)
}

const MESSAGES = [
  from(0, 'shop', { id: 'Leila.Koval@mail.example' }),
  from(1, 'support', {
    id: 'leila.koval@mail.example',
    address: 'leila.koval@mail.example',
    name: 'Leïla Koval',
  }),
  from(2, 'team', { id: 'U02TOMAS', address: 'U02TOMAS', name: 'Tomas Berg' }),
  from(3, 'other', { id: 'U02TOMAS', address: 'U02TOMAS' }),
  from(4, 'team', { id: 'U02TOMAS', address: 'U02TOMAS' }),
]

describe('the list of people', () => {
  test('counts the messages of each over all gateways, with the names that some of them have', async () => {
    const { people, total, messages, next } = await listOf(MESSAGES)()
    assert.deepEqual(
      people.map(({ identity, name, gateways, messages }) => [identity, name, gateways, messages]),
      [
        ['team:U02TOMAS', 'Tomas Berg', ['team'], 2],
        ['other:U02TOMAS', undefined, ['other'], 1],
        ['*:leila.koval@mail.example', 'Leïla Koval', ['support', 'shop'], 2],
      ],
    )
    assert.deepEqual([total, messages, next], [3, 5, undefined])
  })

  test('begins with who wrote last themselves, not with who an event is about', async () => {
    const event = (minute: number, id: string) => ({ ...from(minute, 'shop', { id }), text: '{"order":7}' })
    const list = listOf([
      from(0, 'team', { id: 'ada' }),
      from(1, 'team', { id: 'bo' }),
      event(2, 'carl'),
      event(3, 'dora'),
      event(4, 'ada'),
    ])
    const { people } = await list()
    assert.deepEqual(
      people.map(({ id, gateways, newest, newestText }) => [id, ...gateways, newest.at, newestText?.at]),
      [
        ['bo', 'team', AT + 60_000, AT + 60_000],
        ['ada', 'team', AT, AT],
        ['ada', 'shop', AT + 4 * 60_000, undefined],
        ['dora', 'shop', AT + 3 * 60_000, undefined],
        ['carl', 'shop', AT + 2 * 60_000, undefined],
      ],
    )
  })

  test('counts only the messages of a time, also those of a person who is found by name', async () => {
    const list = listOf(MESSAGES)
    const time = (minute: number) => new Date(AT + minute * 60_000).toISOString()
    const { people, messages } = await list({ since: time(1), until: time(3) })
    assert.deepEqual(
      people.map(({ identity, messages }) => [identity, messages]),
      [
        ['team:U02TOMAS', 1],
        ['*:leila.koval@mail.example', 1],
      ],
    )
    assert.equal(messages, 2)
    const { people: named } = await list({ name: 'leïla koval', since: time(1) })
    assert.deepEqual([named[0]?.messages, named[0]?.gateways], [1, ['support']])
  })

  test('finds the words of a name with and without accents, on one gateway or on all', async () => {
    const list = listOf(MESSAGES)
    for (const name of ['leila', 'LEÏLA', 'koval leïla', 'leila.koval@']) {
      const { people } = await list({ name })
      assert.deepEqual(
        people.map(({ identity }) => identity),
        ['*:leila.koval@mail.example'],
        name,
      )
    }
    assert.equal((await list({ name: 'tomas', gateway: 'other' })).people.length, 1)
    assert.deepEqual((await list({ name: 'tomas leila' })).people, [])
  })

  test('finds an identity as it prints it, also a part of it', async () => {
    const list = listOf(MESSAGES)
    for (const name of ['team:U02TOMAS', 'team:u02t', 'TEAM:U02TOMAS berg', '*:leila.koval@mail.example']) {
      const { people } = await list({ name })
      const expected = name.startsWith('*') ? '*:leila.koval@mail.example' : 'team:U02TOMAS'
      assert.deepEqual(
        people.map(({ identity }) => identity),
        [expected],
        name,
      )
    }
    assert.deepEqual((await list({ name: 'team:U09OTHER' })).people, [])
  })

  test('counts all messages of a person who is found by a name that only some of them have', async () => {
    const [person, ...others] = (await listOf(MESSAGES)({ name: 'leïla koval' })).people
    assert.deepEqual([person?.messages, person?.gateways, person?.more], [2, ['support', 'shop'], undefined])
    assert.equal(others.length, 0)
    const { people, messages } = await listOf(MESSAGES)({ name: 'berg' })
    assert.deepEqual([people[0]?.messages, people.length, messages], [2, 1, 2])
    const { people: here } = await listOf(MESSAGES)({ name: 'leïla', gateway: 'support' })
    assert.deepEqual([here[0]?.messages, here[0]?.gateways], [1, ['support']])
  })

  test('finds an address as mail programs and Slack copy it', async () => {
    const list = listOf(MESSAGES)
    for (const name of [
      'Leila Koval <leila.koval@mail.example>',
      '"Koval, Leïla" <LEILA.KOVAL@mail.example>',
      'mailto:leila.koval@mail.example?subject=Hello',
      'Leila Koval [mailto:leila.koval@mail.example]',
      'leila.koval@mail.example;',
    ]) {
      const { people } = await list({ name })
      assert.deepEqual(
        people.map(({ identity, messages }) => [identity, messages]),
        [['*:leila.koval@mail.example', 2]],
        name,
      )
    }
    assert.equal((await list({ name: '<@U02TOMAS|tomas>' })).people.length, 2)
    assert.deepEqual((await list({ name: 'A <a@mail.example>, B <b@mail.example>' })).people, [])
  })

  test('is sorted by the number of messages or by name, before it is cut', async () => {
    const list = listOf(MESSAGES)
    const most = await list({ sort: 'messages', limit: 2 })
    assert.deepEqual(
      most.people.map(({ messages }) => messages),
      [2, 2],
    )
    const named = await list({ sort: 'name' })
    assert.deepEqual(
      named.people.map(({ name, id }) => name ?? id),
      ['Leïla Koval', 'Tomas Berg', 'U02TOMAS'],
    )
    assert.equal(named.people[0]?.newest.text, 'hello')
  })

  test('counts what people wrote apart from the events of machines, and sorts by it', async () => {
    const event = (minute: number) => ({
      ...from(minute, 'shop', { id: 'leila.koval@mail.example' }),
      text: '{"order":4711}',
      data: { body: { order: 4711 } },
    })
    const list = listOf([...MESSAGES, event(5), event(6)])
    const countsOf = async (args: object) =>
      (await list(args)).people.map(({ id, messages, wrote }) => [id.toLowerCase(), messages, wrote])
    const [most, ...others] = [
      ['leila.koval@mail.example', 4, 2],
      ['u02tomas', 2, 2],
      ['u02tomas', 1, 1],
    ]
    assert.deepEqual(await countsOf({ sort: 'messages' }), [most, ...others])
    assert.deepEqual(await countsOf({ sort: 'wrote', gateway: 'shop' }), [['leila.koval@mail.example', 3, 1]])
    const newer = listOf([...MESSAGES, event(5), event(6), from(7, 'team', { id: 'U02TOMAS' })])
    const { people } = await newer({ sort: 'wrote' })
    assert.deepEqual([people[0]?.id, people[0]?.messages, people[0]?.wrote], ['U02TOMAS', 3, 3])
  })

  test('has the names of other gateways and times', async () => {
    const namesOf = async (args: object) => (await listOf(MESSAGES)(args)).people.map(({ name }) => name)
    assert.deepEqual(await namesOf({ gateway: 'shop' }), ['Leïla Koval'])
    assert.deepEqual(await namesOf({ until: new Date(AT + 60_000).toISOString() }), ['Leïla Koval'])
    // The same id may belong to somebody else on another gateway.
    assert.deepEqual(await namesOf({ gateway: 'other' }), [undefined])
  })

  test('says how many messages it has counted, if they are not all', async () => {
    const first = await listOf(MESSAGES)({ messages: 2 })
    assert.deepEqual([first.messages, first.total], [2, 2])
    assert.deepEqual(
      first.people.map(({ more }) => more),
      [true, true],
    )
    assert.equal(first.next, MESSAGES[3]?.id)
    const rest = await listOf(MESSAGES)({ before: first.next })
    assert.deepEqual([rest.messages, rest.next], [3, undefined])
    const some = await listOf(MESSAGES)({ limit: 1 })
    assert.deepEqual([some.people.length, some.total, some.messages], [1, 3, 5])
    let time = 0
    const late = await listOf(MESSAGES, {
      now: () => {
        time += 2_000
        return time
      },
    })()
    assert.equal(late.messages, 2 + 2)
    assert.equal(late.searchedTo, AT + 60_000)
  })

  test('is for operators', async () => {
    const program = callOf({ caller: { kind: 'http', skills: ['*'] } })
    await assert.rejects(listOf(MESSAGES)({}, program), { code: 'forbidden' })
  })

  test('is printed with the identities that the other commands take, and what was counted', async () => {
    const cut = await listOf(MESSAGES)({ messages: 2 })
    const text = JSON.stringify(humanPeople(JSON.parse(JSON.stringify(cut))))
    assert.match(text, /team:U02TOMAS/)
    assert.match(text, /2 people in the newest 2 messages, back to /)
    assert.match(text, /Older ones: `trivium person list --before /)
    const all = JSON.stringify(humanPeople(JSON.parse(JSON.stringify(await listOf(MESSAGES)()))))
    assert.match(all, /leila\.koval@mail\.example/)
    assert.doesNotMatch(all, /\*:|newest/)
    const none = await listOf(MESSAGES)({ name: 'nobody' })
    const shown = humanPeople(JSON.parse(JSON.stringify(none)), { name: 'nobody at all' })
    assert.match(
      JSON.stringify(shown),
      /No stored message.* In texts: `trivium message list --search 'nobody at all'`/,
    )
    const some = JSON.parse(JSON.stringify(await listOf(MESSAGES)({ limit: 1, gateway: 'team' })))
    assert.match(
      JSON.stringify(humanPeople({ ...some, total: 3 }, { gateway: 'team', limit: 1 })),
      /The first 1 of 3 people .*All: `trivium person list --gateway team --limit 3`/,
    )
  })
})
