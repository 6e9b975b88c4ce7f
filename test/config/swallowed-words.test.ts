import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { routeSchema } from '../../src/config/route-schema.ts'
import { swallowedWords } from '../../src/config/swallowed-words.ts'

const gateways = [
  { name: 'cli', transport: 'cli', enabled: true },
  { name: 'chat', transport: 'websocket', enabled: true },
  { name: 'team', transport: 'slack', enabled: false },
  { name: 'hook', transport: 'webhook', enabled: true },
]
const skills = [
  { name: 'remember-note', metadata: { prefixes: ['remember'] } },
  { name: 'recall-notes', metadata: { prefixes: ['recall'] } },
  { name: 'echo' },
]
/** The words of the assistant that a route with this match takes, and on which gateways. */
const wordsOf = (match: object, more: object = {}) =>
  swallowedWords(routeSchema.parse({ name: 'r', skill: 'echo', match, ...more }), gateways, skills)

describe('the words of the assistant', () => {
  test('are taken by a route for all messages of a chat, or for texts with these words', () => {
    const both = ['remember', 'recall']
    assert.deepEqual(wordsOf({}), { words: both, where: ['cli', 'chat'] })
    assert.deepEqual(wordsOf({ gateway: 'chat' }), { words: both, where: ['chat'] })
    assert.deepEqual(wordsOf({ transport: ['cli', 'webhook'] }), { words: both, where: ['cli'] })
    assert.deepEqual(wordsOf({ gateway: 'c*', automatic: false }), { words: both, where: ['cli', 'chat'] })
    assert.deepEqual(wordsOf({ text: '*' })?.words, both)
    assert.deepEqual(wordsOf({ text: '/^rem/' })?.words, ['remember'])
    assert.deepEqual(wordsOf({ prefix: 'recall' })?.words, ['recall'])
  })

  test('are not taken by a fallback, by routes for other messages, and by routes with more conditions', () => {
    for (const [match, more] of [
      [{}, { fallback: true }],
      [{ gateway: 'hook' }],
      [{ gateway: 'team' }],
      [{ prefix: 'order' }],
      [{ gateway: 'chat', 'data.kind': 'question' }],
      [{ verified: true }],
    ]) {
      assert.equal(wordsOf(match ?? {}, more), undefined, JSON.stringify(match))
    }
  })
})
