import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { routeSchema } from '../../src/config/schema/route.ts'
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
const of = (match: object, more: object = {}) =>
  swallowedWords(routeSchema.parse({ name: 'r', skill: 'echo', match, ...more }), gateways, skills)

describe('the words of the assistant', () => {
  test('are swallowed by a route of the file that takes all messages of a chat, or these', () => {
    const both = ['remember', 'recall']
    assert.deepEqual(of({}), { words: both, where: ['cli', 'chat'] })
    assert.deepEqual(of({ gateway: 'chat' }), { words: both, where: ['chat'] })
    assert.deepEqual(of({ transport: ['cli', 'webhook'] }), { words: both, where: ['cli'] })
    assert.deepEqual(of({ gateway: 'c*', automatic: false }), { words: both, where: ['cli', 'chat'] })
    assert.deepEqual(of({ text: '*' })?.words, both)
    assert.deepEqual(of({ text: '/^rem/' })?.words, ['remember'])
    assert.deepEqual(of({ prefix: 'recall' })?.words, ['recall'])
  })

  test('are not by a fallback, a route for others, or one that asks for more', () => {
    for (const [match, more] of [
      [{}, { fallback: true }],
      [{ gateway: 'hook' }],
      [{ gateway: 'team' }],
      [{ prefix: 'order' }],
      [{ gateway: 'chat', 'data.kind': 'question' }],
      [{ verified: true }],
    ]) {
      assert.equal(of(match ?? {}, more), undefined, JSON.stringify(match))
    }
  })
})
