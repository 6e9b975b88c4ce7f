import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createIdentities, createReferences, namesIn } from '../../src/features/person/person.ts'

const IDENTITIES = ['chat:ada']

function references(conversations: readonly string[], neighbours: readonly string[] = []) {
  const person = {
    identities: IDENTITIES,
    messages: new Set<string>(),
    conversations: new Set(conversations),
    neighbours: new Set(neighbours),
    files: new Set<string>(),
  }
  return createReferences(
    person,
    createIdentities(IDENTITIES, () => false),
  )
}

describe('data about an address on one gateway', () => {
  const identities = ['mail:zoe@example.com']
  const none = { messages: new Set<string>(), conversations: new Set<string>(), files: new Set<string>() }
  const about = createReferences(
    { identities, ...none },
    createIdentities(identities, () => false, ['mail', 'chat']),
  )
  const approval = (gateway: string) => ({
    by: `${gateway}:zoe@example.com`,
    args: { customer: 'zoe@example.com' },
    message: { gateway, from: 'zoe@example.com' },
  })

  test('does not include what names another gateway, also above the address', () => {
    assert.equal(about.refersTo(approval('mail')), true)
    assert.equal(about.refersTo(approval('chat')), false)
    assert.deepEqual(about.without(approval('chat')), approval('chat'))
    assert.deepEqual(about.partsAbout([approval('chat'), approval('mail')]), [approval('mail')])
    assert.equal(about.isInKey('session:chat/zoe@example.com'), false)
    assert.equal(about.isInKey('session:mail/zoe@example.com'), true)
    assert.equal(about.isInKey('Zoe: zoe@example.com', 'chat'), false)
  })

  test('includes what names no gateway, or something else that is called channel', () => {
    assert.equal(about.refersTo({ customer: 'zoe@example.com' }), true)
    assert.equal(about.refersTo({ channel: 'C024', customer: 'zoe@example.com' }), true)
    assert.equal(about.isInKey('order:zoe@example.com'), true)
  })
})

describe('data about a person', () => {
  test('does not include a conversation of others whose name contains that of theirs', () => {
    const neighbours = ['ws/a:b', 'ws/a/c', 'mail/ws/a']
    for (const other of neighbours) assert.ok(namesIn(other).includes('ws/a'), other)
    const { mentions } = references(['ws/a'], neighbours)
    for (const other of neighbours) {
      assert.equal(mentions(other), false, other)
      assert.equal(mentions(`reply:${other}:2`), false, other)
      assert.equal(mentions(`${other} and ws/a`), true, other)
    }
    for (const own of ['ws/a', 'reply:ws/a:2', 'ws/a:bc', 'dispatch/ws/a'])
      assert.equal(mentions(own), true, own)
  })

  test('is recognised by the name of their conversation, also after a longer name that begins with it', () => {
    const { mentions } = references(['chat/room-1'])
    assert.equal(mentions('reply:chat/room-1:2'), true)
    assert.equal(mentions('reply:chat/room-12'), false)
    assert.equal(mentions('moved:chat/room-12:chat/room-1'), true)
  })

  test('does not include another conversation whose name begins with the same words', () => {
    const { mentions, refersTo } = references(['chat/ada'])
    for (const other of ['chat/ada-maria', 'chat/ada.b', 'chat/ada@example.com', 'chat/ada+1'])
      assert.equal(mentions(`reply:${other}:2`), false, other)
    assert.equal(refersTo({ lane: 'chat/ada-maria', text: 'for somebody else' }), false)
    assert.equal(mentions('It was chat/ada.'), true)
    assert.equal(mentions('reply:chat/ada:2'), true)
  })
})
