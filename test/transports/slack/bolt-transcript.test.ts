// The lines of the transcript are written a moment after the messages.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { openApp } from './bolt-harness.ts'
import { callback } from './harness.ts'

test('messages to a Bolt app are in the transcript, in order, when the daemon has stopped', async () => {
  const slack = await startSlackServer()
  after(() => slack.close())
  const site = openApp(slack, 'exports.registerListeners = (app) => app.message(({ say }) => say("heard"))')
  const daemon = await site.start()
  await until(() => slack.sockets.open() === 1, 'a socket')
  const texts = Array.from({ length: 5 }, (_, index) => `message ${index}`)
  const thread_ts = slack.nextTs()
  for (const text of texts) {
    const { acked } = await slack.sockets.deliver(
      'events_api',
      callback({ text, ts: slack.nextTs(), thread_ts }),
    )
    assert.ok(acked)
  }
  await until(() => slack.posts.length === texts.length, 'all answers')
  await daemon.end('SIGTERM')
  const linesOf = (file: string): Record<string, unknown>[] =>
    readFileSync(join(site.dir, '.trivium', file), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  assert.deepEqual(
    linesOf('messages.jsonl').map(({ role, content }) => [role, content]),
    texts.map((text) => ['user', text]),
  )
  assert.deepEqual(
    linesOf('events.jsonl')
      .filter(({ event }) => event === 'message_processed')
      .map(({ text, skill, ok }) => [text, skill, ok]),
    texts.map((text) => [text, 'bolt:app.js', true]),
  )
})
