import assert from 'node:assert/strict'
import { test } from 'node:test'
import { workerOf } from '../../src/core/delegation-words.ts'

const parse = (text: string) => workerOf(text, undefined)

test('a delegation may begin with its worker', () => {
  for (const [text, worker] of [
    ['ada: check', 'ada'],
    ['to ada:check', 'ada'],
    ['ada : check', 'ada'],
    ['to chat:ada: check', 'chat:ada'],
    ['team:U024BE7LH: check', 'team:U024BE7LH'],
    ['to chat:ada:check', 'chat:ada'],
    ['telegram:4711: check', 'telegram:4711'],
    ['support:ada@example.com: check', 'support:ada@example.com'],
    ['ada:\ncheck', 'ada'],
    ['7: check', '7'],
  ] as const)
    assert.deepEqual(parse(text), { worker, task: 'check' }, text)
  assert.deepEqual(parse('ada: https://example.com/i/1'), { worker: 'ada', task: 'https://example.com/i/1' })
  assert.deepEqual(parse('ada: 10:30 call Bob'), { worker: 'ada', task: '10:30 call Bob' })
})

test('a colon in a URL, a time of day or a host does not make the text before it a worker', () => {
  for (const task of [
    'https://example.com/i/1 fix it',
    'to https://example.com/i/1: reply',
    'https://user:secret@example.com: fix it',
    'mailto:ada@example.com answer',
    'tel:+4930123456 call',
    '10:30 call Bob',
    '10:30: call Bob',
    '09:05:30 restart',
    'localhost:8080 is down',
    'example.com:443/status is down',
    '2026-11-29T10:30 call Bob',
    '16:9 video',
    'git@github.com:acme/app has a broken build',
    'node:fs is missing',
    'to 10:30 move the call',
  ])
    assert.deepEqual(parse(task), { worker: 'worker', task }, task)
})
