import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { fingerprint, isDone, kindOf } from '../../../transports/slack/outbound/methods.ts'
import { storableAnswer } from '../../../transports/slack/outbound/stored-answer.ts'

/** All methods of the installed client. */
function methodsOfClient(): string[] {
  const file = fileURLToPath(import.meta.resolve('@slack/web-api')).replace(/index\.js$/, 'methods.js')
  const named = readFileSync(file, 'utf8').matchAll(/bind\w*\(this, '([\w.]+)'\)/g)
  return [...new Set(Array.from(named, ([, method = '']) => method))]
}

/** Names of methods that change something begin their last part with one of these words. */
const CHANGING =
  /\.(add|approve|archive|assign|cancel|clear|close|complete|convert|create|delete|deny|disable|edit|enable|end|invite|join|kick|leave|mark|meMessage|move|open|post|present|publish|push|remove|rename|reset|restrict|revoke|schedule|set|share|start|stop|append|unarchive|unfurl|uninstall|unpublish|update)[A-Z]?\w*$/

test('methods of the client are recorded if they change something, and only then', () => {
  const methods = methodsOfClient()
  assert.ok(methods.length > 250, `${methods.length} methods`)
  const unrecorded = methods.filter((method) => kindOf(method) === 'free')
  // They open a connection, or show a status for a minute.
  const transient = [
    ...['agents.sessions.setStatus', 'apps.connections.open', 'assistant.threads.setStatus'],
    ...['conversations.open', 'slackLists.download.start'],
  ]
  const isChanging = (method: string) =>
    CHANGING.test(method) && !/\.(scheduledMessages|members)|^search\./.test(method)
  assert.deepEqual(unrecorded.filter(isChanging).sort(), transient)
  const recorded = methods.filter((method) => kindOf(method) !== 'free')
  assert.deepEqual(
    recorded.filter((method) => /\.(list|get|info|history|lookup|search|test)\w*$/.test(method)),
    [],
  )
})

const printOf = (method: string, body: Record<string, string>) =>
  fingerprint(method, 'https://slack.com/x', new URLSearchParams(body))

test('a call with a renewed token is the same, and one with another text has the same place', () => {
  const first = printOf('chat.postMessage', { token: 'xoxe-1', channel: 'C1', text: 'it is 9:00' })
  assert.deepEqual(printOf('chat.postMessage', { token: 'xoxe-2', channel: 'C1', text: 'it is 9:00' }), first)
  const later = printOf('chat.postMessage', { token: 'xoxe-2', channel: 'C1', text: 'it is 9:01' })
  assert.equal(later.place, first.place)
  assert.notEqual(later.said, first.said)
  const elsewhere = printOf('chat.postMessage', { channel: 'C2', text: 'it is 9:00' })
  assert.notEqual(elsewhere.place, first.place)
})

test('an error of a repeated call means success only for its own method', () => {
  for (const [method, error] of [
    ['reactions.remove', 'no_reaction'],
    ['reactions.add', 'already_reacted'],
    ['chat.delete', 'message_not_found'],
    ['conversations.archive', 'already_archived'],
    ['conversations.unarchive', 'not_archived'],
    ['pins.add', 'already_pinned'],
    ['pins.remove', 'no_pin'],
  ] as const)
    assert.ok(isDone(method, error), method)
  assert.ok(!isDone('chat.update', 'message_not_found'))
  assert.ok(!isDone('reactions.add', 'no_reaction'))
})

test('an answer is stored up to 16 KB, with its ids and without secrets', () => {
  const answer = {
    ok: true,
    view: { id: 'V1', hash: 'h', blocks: Array(200).fill({ text: 'x'.repeat(1000) }) },
  }
  const stored = storableAnswer(JSON.stringify(answer))
  assert.ok(stored.length <= 16_384, `${stored.length}`)
  const { ok, view } = JSON.parse(stored)
  assert.deepEqual([ok, view.id, view.hash], [true, 'V1', 'h'])
  assert.equal(storableAnswer('{"ok":true}'), '{"ok":true}')
  assert.equal(storableAnswer('x'.repeat(20_000)), '{"ok":true}')
  const withSecrets = {
    ok: true,
    app_id: 'A1',
    credentials: { client_secret: 's' },
    nested: { access_token: 'x', id: 1 },
  }
  assert.equal(storableAnswer(JSON.stringify(withSecrets)), '{"ok":true,"app_id":"A1","nested":{"id":1}}')
})
