import assert from 'node:assert/strict'
import { test } from 'node:test'

const url = new URL('../../src/console/lib/palette-rank.js', import.meta.url)
const { atWordsFirst, matching, nearlyMatching, startsWord } = await import(url.href)

const entries = [
  { kind: 'route', name: 'refunds' },
  { kind: 'skill', name: 'refund-mail' },
  { kind: 'skill', name: 'refund' },
  { kind: 'action', name: 'Pause route refunds …' },
  { kind: 'action', name: 'Pause skill refund-mail …' },
  { kind: 'action', name: 'Pause skill refund …' },
]
const names = (found: { name: string }[]) => found.map(({ name }) => name)

test('a name that has the words as a whole comes before one that only begins with them', () => {
  assert.equal(names(matching(entries, ['refund']))[0], 'refund')
  assert.equal(names(matching(entries, ['refunds']))[0], 'refunds')
  assert.deepEqual(names(matching(entries, ['pause', 'refund'])), [
    'Pause skill refund …',
    'Pause route refunds …',
    'Pause skill refund-mail …',
  ])
  assert.equal(names(nearlyMatching(entries, ['puase', 'refund']))[0], 'Pause skill refund …')
})

test('of several words, one may be the kind', () => {
  assert.deepEqual(names(matching(entries, ['route', 'refunds'])), ['Pause route refunds …', 'refunds'])
  assert.deepEqual(names(matching(entries, ['skill', 'refund-mail'])).includes('refund-mail'), true)
  assert.deepEqual(names(matching(entries, ['route'])), ['Pause route refunds …'])
})

test('a word begins after anything that is no letter or number', () => {
  assert.ok(startsWord('ian fraser', 'ian'))
  assert.ok(startsWord('luca bianchi · dr.ian@mail.example', 'ian'))
  assert.equal(startsWord('luca bianchi', 'ian'), false)
})

test('a problem comes before the gateway that has it, and built-in routes come last', () => {
  const found = matching(
    [
      { kind: 'gateway', name: 'courier' },
      { kind: 'problem', name: 'Gateway courier refuses every delivery', things: ['courier'] },
      { kind: 'built-in route', name: 'courier@slack' },
      { kind: 'action', name: 'Pause gateway courier …' },
    ],
    ['courier'],
  )
  assert.deepEqual(names(found), [
    'Gateway courier refuses every delivery',
    'courier',
    'Pause gateway courier …',
    'courier@slack',
  ])
  assert.deepEqual(
    names(matching([{ kind: 'problem', name: 'An error', things: ['shop'] }], ['courier'])),
    [],
  )
})

test('what is found has matches at the beginnings of words first', () => {
  const found = [
    { kind: 'conversation', name: 'Luca Bianchi: hello' },
    { kind: 'conversation', name: 'Eva: thanks', more: 'from Ian' },
    { kind: 'conversation', name: 'Ian Fraser: hello' },
  ]
  assert.deepEqual(names(atWordsFirst(found, ['ian'])), [
    'Eva: thanks',
    'Ian Fraser: hello',
    'Luca Bianchi: hello',
  ])
})
