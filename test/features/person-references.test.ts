import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createIdentities, createReferences } from '../../src/features/person/person.ts'

const IDENTITIES = ['chat:ada']

function references(conversations: readonly string[]) {
  const person = {
    identities: IDENTITIES,
    messages: new Set<string>(),
    conversations: new Set(conversations),
    files: new Set<string>(),
  }
  return createReferences(
    person,
    createIdentities(IDENTITIES, () => false),
  )
}

describe('data about a person', () => {
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
