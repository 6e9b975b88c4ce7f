import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { fingerprint, isDone, kindOf } from '../../../transports/slack/outbound/methods.ts'
import { storableAnswer } from '../../../transports/slack/outbound/stored-answer.ts'

/** Every method that the installed client knows. */
function methodsOfClient(): string[] {
  const file = fileURLToPath(import.meta.resolve('@slack/web-api')).replace(/index\.js$/, 'methods.js')
  const named = readFileSync(file, 'utf8').matchAll(/bind\w*\(this, '([\w.]+)'\)/g)
  return [...new Set(Array.from(named, ([, method = '']) => method))]
}

const CHANGES =
  /\.(add|approve|archive|assign|cancel|clear|close|complete|convert|create|delete|deny|disable|edit|enable|end|invite|join|kick|leave|mark|meMessage|move|open|post|present|publish|push|remove|rename|reset|restrict|revoke|schedule|set|share|start|stop|append|unarchive|unfurl|uninstall|unpublish|update)[A-Z]?\w*$/

test('every method of the client that changes something is recorded, and none that reads', () => {
  const methods = methodsOfClient()
  assert.ok(methods.length > 250, `${methods.length} methods`)
  const free = methods.filter((method) => kindOf(method) === 'free')
  // They open a way, or show for a minute that somebody works.
  const transient = [
    ...['agents.sessions.setStatus', 'apps.connections.open', 'assistant.threads.setStatus'],
    ...['conversations.open', 'slackLists.download.start'],
  ]
  const words = (method: string) =>
    CHANGES.test(method) && !/\.(scheduledMessages|members)|^search\./.test(method)
  assert.deepEqual(free.filter(words).sort(), transient)
  const recorded = methods.filter((method) => kindOf(method) !== 'free')
  assert.deepEqual(
    recorded.filter((method) => /\.(list|get|info|history|lookup|search|test)\w*$/.test(method)),
    [],
  )
})

const print = (method: string, body: Record<string, string>) =>
  fingerprint(method, 'https://slack.com/x', new URLSearchParams(body))

test('a call is the same with a renewed token; with another text it goes to the same place', () => {
  const first = print('chat.postMessage', { token: 'xoxe-1', channel: 'C1', text: 'it is 9:00' })
  assert.deepEqual(print('chat.postMessage', { token: 'xoxe-2', channel: 'C1', text: 'it is 9:00' }), first)
  const later = print('chat.postMessage', { token: 'xoxe-2', channel: 'C1', text: 'it is 9:01' })
  assert.equal(later.place, first.place)
  assert.notEqual(later.said, first.said)
  const elsewhere = print('chat.postMessage', { channel: 'C2', text: 'it is 9:00' })
  assert.notEqual(elsewhere.place, first.place)
})

test('what Slack says of a second call means success for that method alone', () => {
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

test('an answer is kept up to 16 KB, with its ids', () => {
  const answer = {
    ok: true,
    view: { id: 'V1', hash: 'h', blocks: Array(200).fill({ text: 'x'.repeat(1000) }) },
  }
  const kept = storableAnswer(JSON.stringify(answer))
  assert.ok(kept.length <= 16_384, `${kept.length}`)
  const { ok, view } = JSON.parse(kept)
  assert.deepEqual([ok, view.id, view.hash], [true, 'V1', 'h'])
  assert.equal(storableAnswer('{"ok":true}'), '{"ok":true}')
  assert.equal(storableAnswer('x'.repeat(20_000)), '{"ok":true}')
  const made = {
    ok: true,
    app_id: 'A1',
    credentials: { client_secret: 's' },
    nested: { access_token: 'x', id: 1 },
  }
  assert.equal(storableAnswer(JSON.stringify(made)), '{"ok":true,"app_id":"A1","nested":{"id":1}}')
})
