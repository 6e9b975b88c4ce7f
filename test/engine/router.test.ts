import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { routeSchema } from '../../src/config/route-schema.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { RouteMatch } from '../../src/core/match.ts'
import type { Message } from '../../src/core/message.ts'
import type { Route } from '../../src/core/route.ts'
import { createRouter } from '../../src/engine/router.ts'
import fc from '../fixtures/fast-check.ts'
import { messageOf } from '../runtime/support/message.ts'

describe('the router', () => {
  test('gives a notice, such as an edit, only to a route that names its event', () => {
    const router = createRouter([
      route('talk', { gateway: ['team'] }),
      route('edits', { event: ['message_changed'] }),
      route('likes', { reaction: ['heart'] }),
      route('rest', {}),
    ])
    const routeOf = (data: JsonObject) => router.match(messageOf({ gateway: 'team', data }))?.name
    assert.equal(routeOf({ event: 'message' }), 'talk')
    assert.equal(routeOf({ event: 'message_changed', notice: true }), 'edits')
    assert.equal(routeOf({ event: 'reaction_added', reaction: 'heart', notice: true }), 'likes')
    assert.equal(routeOf({ event: 'reaction_added', reaction: 'eyes', notice: true }), undefined)
    assert.equal(routeOf({ event: 'push' }), 'talk')
  })

  test('explains that a route ignores notices', () => {
    const router = createRouter([route('rest', {})])
    assert.deepEqual(router.explain(messageOf({ data: { notice: true } }))[0]?.keys, [
      { key: 'data.notice', matched: false, wanted: 'false', actual: 'true' },
    ])
    assert.deepEqual(router.explain(messageOf({}))[0]?.keys, [])
  })

  test('does not read the text if another field does not match, in any order of keys', () => {
    const match = { text: ['/no[tw]/i'], prefix: ['now', 'not'], verified: true, 'data.kind': ['a'] }
    const router = createRouter([route('words', match)])
    const unreadable = messageOf({ data: { kind: 'b' }, from: { id: 'u', verified: true } })
    Object.defineProperty(unreadable, 'text', { get: () => assert.fail('the text was read') })
    assert.equal(router.match(unreadable), undefined)
    const from = { id: 'u', verified: true }
    assert.equal(router.match(messageOf({ data: { kind: 'a' }, from, text: 'Now!' }))?.name, 'words')
  })

  test('finds the routes of each gateway and transport, also after the routes change', () => {
    const routeOf = (gateway: string, transport = 'cli') =>
      router.match(messageOf({ gateway, transport }))?.name
    const router = createRouter([route('a', { gateway: ['a*'] }), route('mail', { transport: ['email'] })])
    assert.deepEqual(
      [routeOf('a1'), routeOf('b', 'email'), routeOf('a1'), routeOf('b')],
      ['a', 'mail', 'a', undefined],
    )
    router.use([route('all', { gateway: ['b'] })])
    assert.deepEqual([routeOf('b'), routeOf('a1'), routeOf('b', 'email')], ['all', undefined, 'all'])
  })

  const bob = { id: 'U1', address: 'Bob@Example.com', name: 'Bob Smith' }
  const headers = { 'x-kind': 'A', 'X-Other': ['b', 'a'] }
  const [FRIDAY, SATURDAY] = [Date.parse('2026-11-27T09:00Z'), Date.parse('2026-11-28T09:00Z')]
  const cases: [match: RouteMatch, matching: Partial<Message>[], others?: Partial<Message>[]][] = [
    [{ from: ['u1'] }, [{ from: bob }]],
    [
      { text: ['*refund*'] },
      [{ text: '{"note":"hi"}', data: { transcript: 'A refund, please.' } }],
      [{ text: '{"note":"hi"}', data: { transcript: 'Good morning.' } }, { text: '{"note":"hi"}' }],
    ],
    [{ from: ['*@example.com'] }, [{ from: bob }], [{ from: { id: 'x', address: 'b@example.org' } }]],
    [{ from: ['bob*'] }, [{ from: bob }]],
    [{ subject: ['support*'] }, [{ subject: 'Support/urgent' }], [{}]],
    [{ subject: ['*'] }, [{ subject: '' }], [{}]],
    [{ text: ['*refund*'] }, [{ text: '.dear\nI want a Refund\nthanks' }]],
    [{ text: ['/^v\\d+$/'] }, [{ text: 'v12' }], [{ text: 'V12' }]],
    [{ text: ['/^v\\d+$/i'] }, [{ text: 'V12' }]],
    [{ prefix: ['deploy'] }, [{ text: '  Deploy now' }, { text: 'deploy' }], [{ text: 'deployed' }]],
    [{ prefix: ['caf'] }, [{ text: 'caf: now' }], [{ text: 'café' }]],
    [{ prefix: ['!'] }, [{ text: '!help' }]],
    [{ mention: true }, [{ data: { mention: true } }], [{ data: { mention: 'true' } }, {}]],
    [{ mention: false }, [{}], [{ data: { mention: true } }]],
    [{ thread: ['mine'] }, [{ data: { thread: '1.1', mine: true } }], [{ data: { thread: '1.1' } }, {}]],
    [{ direct: true }, [{ data: { direct: true } }], [{}]],
    [{ verified: true }, [{ from: { id: 'a', verified: true } }], [{ from: { id: 'a' } }]],
    [{ verified: false }, [{ from: { id: 'a' } }], [{ from: { id: 'a', verified: true } }]],
    [{ automatic: false }, [{}], [{ data: { auto: 'list' } }]],
    [{ automatic: true }, [{ data: { auto: 'list' } }], [{}]],
    [{ channel: ['c0*'] }, [{ data: { channel: 'C042' } }]],
    [{ command: ['/deploy'] }, [{ data: { command: '/deploy' } }]],
    [{ action: ['approve'] }, [{ data: { action: 'approve' } }]],
    [{ reaction: ['eyes', 'tada'] }, [{ data: { reaction: 'tada' } }], [{ data: { reaction: 'no' } }]],
    [{ 'header.X-Kind': ['a'] }, [{ data: { headers } }], [{ data: { headers: {} } }]],
    [{ 'header.x-other': ['a'] }, [{ data: { headers } }]],
    [{ 'data.body.pr.merged': ['true'] }, [{ data: { body: { pr: { merged: true } } } }], [{}]],
    [{ 'data.n': ['4*'] }, [{ data: { n: 42 } }]],
    [{ 'data.labels': ['bug'] }, [{ data: { labels: ['ui', 'bug'] } }], [{ data: { labels: ['ui'] } }]],
    [{ 'data.o': ['*'] }, [], [{ data: { o: {} } }]],
    [{ not: [{ from: ['*@example.com'] }] }, [{ from: { id: 'x' } }, {}], [{ from: bob }]],
    [
      { not: [{ from: ['*@example.com'], prefix: ['urgent'] }] },
      [{ from: bob }, { text: 'urgent' }],
      [{ from: bob, text: 'Urgent: help' }],
    ],
    [
      { not: [{ from: ['u1'] }, { automatic: true }] },
      [{ from: { id: 'u2' } }],
      [{ from: bob }, { data: { auto: 'list' } }],
    ],
    [{ text: ['*'], not: [{ gateway: ['a'] }] }, [{ gateway: 'b' }], [{ gateway: 'a' }]],
    [{ not: [{ verified: true }] }, [{ from: { id: 'a' } }], [{ from: { id: 'a', verified: true } }]],
    [{ hours: ['Mon-Fri 09:00-17:00 Europe/Berlin'] }, [{ receivedAt: FRIDAY }], [{ receivedAt: SATURDAY }]],
    [{ hours: ['Fri 08:00-09:30', 'Sat 00:00-24:00'] }, [{ receivedAt: FRIDAY }, { receivedAt: SATURDAY }]],
    [{ not: [{ hours: ['Sat-Sun'] }] }, [{ receivedAt: FRIDAY }], [{ receivedAt: SATURDAY }]],
    [{ 'data.constructor.name': ['*'] }, [], [{}]],
  ]
  test('matches each key as documented', () => {
    for (const [match, matching, others = []] of cases) {
      const router = createRouter([route('r', match)])
      for (const fields of matching)
        assert.ok(router.match(messageOf(fields)), JSON.stringify([match, fields]))
      for (const fields of others)
        assert.equal(router.match(messageOf(fields)), undefined, JSON.stringify([match, fields]))
    }
  })

  test('`not` does not make a route take notices, but excludes some that it takes', () => {
    const edit = (id: string) => messageOf({ from: { id }, data: { event: 'message_changed', notice: true } })
    const plain = createRouter([route('plain', { not: [{ event: ['push'] }] })])
    assert.equal(plain.match(edit('ada')), undefined)
    const edits = createRouter([route('edits', { event: ['message_changed'], not: [{ from: ['bot'] }] })])
    assert.equal(edits.match(edit('ada'))?.name, 'edits')
    assert.equal(edits.match(edit('bot')), undefined)
  })

  test('explains exclusions, and hours that do not match', () => {
    const hours = ['Mon-Fri 09:00-17:00 Europe/Berlin']
    const router = createRouter([
      route('desk', { hours, not: [{ from: ['*@example.com'], subject: ['*'] }] }),
      route('night', { not: [{ hours }, { verified: true }] }),
    ])
    const message = messageOf({ from: bob, subject: 'Hi', receivedAt: SATURDAY })
    const [desk, night] = router.explain(message)
    const clock = 'Sat 10:00 Europe/Berlin'
    const excluded = (key: string) => ({
      key: `not.${key}`,
      matched: false,
      reason: `excluded by not.${key}`,
    })
    assert.deepEqual(desk?.keys, [
      {
        key: 'hours',
        matched: false,
        wanted: `'${hours[0]}'`,
        actual: `'${clock}'`,
        reason: `outside of hours ${hours[0]}`,
      },
      {
        ...excluded('from'),
        wanted: "not '*@example.com'",
        actual: "[ 'U1', 'Bob@Example.com', 'Bob Smith' ]",
      },
      { ...excluded('subject'), wanted: "not '*'", actual: "'Hi'" },
    ])
    assert.deepEqual(night?.keys, [
      { key: 'not[0].hours', matched: true, wanted: `not '${hours[0]}'`, actual: `'${clock}'` },
      { key: 'not[1].verified', matched: true, wanted: 'not true', actual: 'absent' },
    ])
    assert.equal(night?.chosen, true)
  })

  test('reads neither the time nor the text if another field does not match', () => {
    const router = createRouter([
      route('words', { hours: ['00:00-24:00'], not: [{ text: ['/x/'] }], 'data.kind': ['a'] }),
    ])
    const unreadable = messageOf({ data: { kind: 'b' } })
    for (const key of ['text', 'receivedAt'])
      Object.defineProperty(unreadable, key, { get: () => assert.fail(`${key} was read`) })
    assert.equal(router.match(unreadable), undefined)
  })

  test('explains each key of each route with the value in the message', () => {
    const router = createRouter([
      route('pushes', { gateway: ['github'], event: ['push', 'tag*'] }),
      route('rest', {}),
      route('also', {}),
      route('late', { subject: ['*'] }),
    ])
    assert.deepEqual(router.explain(messageOf({ gateway: 'github', data: { event: 'star' } })), [
      {
        route: 'pushes',
        skill: 'echo',
        matched: false,
        chosen: false,
        keys: [
          { key: 'gateway', matched: true, wanted: "'github'", actual: "'github'" },
          { key: 'event', matched: false, wanted: "[ 'push', 'tag*' ]", actual: "'star'" },
        ],
      },
      { route: 'rest', skill: 'echo', matched: true, chosen: true, keys: [] },
      { route: 'also', skill: 'echo', matched: true, chosen: false, keys: [] },
      {
        route: 'late',
        skill: 'echo',
        matched: false,
        chosen: false,
        keys: [{ key: 'subject', matched: false, wanted: "'*'", actual: 'absent' }],
      },
    ])
  })

  test('match and explain choose the same route', () => {
    const values = ['a', 'ab', 'b', '*', 'a*', '/a/', '/^b$/i']
    const anyMatch = fc.dictionary(
      fc.constantFrom(
        'gateway',
        'transport',
        'text',
        'event',
        'subject',
        'data.a.b',
        'header.h',
        'from',
        'prefix',
      ),
      fc.array(fc.constantFrom(...values), { minLength: 1, maxLength: 3 }),
    )
    const word = fc.constantFrom('a', 'ab', 'b', 'B', 'abc', '')
    const anyMessage = fc.record({
      gateway: word,
      transport: word,
      text: word,
      subject: word,
      event: fc.jsonValue(),
    })
    fc.assert(
      fc.property(
        fc.array(anyMatch, { maxLength: 6 }),
        fc.array(anyMessage, { maxLength: 5 }),
        (matches, messages) => {
          const router = createRouter(matches.map((match, i) => route(`r${i}`, match)))
          for (const { event, ...fields } of messages) {
            const message = messageOf({ ...fields, data: { event: event as string } })
            const chosen = router.explain(message).find((each) => each.chosen)
            assert.equal(router.match(message)?.name, chosen?.route)
          }
        },
      ),
    )
  })
})

function route(name: string, match: RouteMatch): Route {
  return { ...routeSchema.parse({ name, skill: 'echo' }), match }
}
