import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startOpenAiServer } from '../fixtures/openai-server.ts'
import { until } from '../fixtures/until.ts'

const WRITER = `---
name: writer
description: Answers with a model.
---
Answer the message.
`

describe('where copies of a person may be', { timeout: 180_000 }, async () => {
  const model = await startOpenAiServer([{ text: 'Hello.' }])
  after(() => model.close())
  const site = openSite({
    routes: `
gateways: { desk: { transport: cli }, lab: { transport: cli }, hall: { transport: cli } }
model: { name: "openai-compatible:tiny", base-url: "${model.url}", api-key: "test-key-123456" }
topics:
  gateway-message:
    groups:
      analytics: {}
      desk-sync: { match: { gateway: desk } }
      lab-sync: { match: { gateway: lab } }
      unread: {}
subscriptions:
  - { name: halls, url: "http://127.0.0.1:9/halls", secret: whsec_bGFudGVybi1wdXNoLXNpZ25pbmctc2VjcmV0LTAwMQ==, allow-private: true, match: { gateway: hall } }
  - { name: desks, url: "http://127.0.0.1:9/desks", secret: whsec_bGFudGVybi1wdXNoLXNpZ25pbmctc2VjcmV0LTAwMQ==, allow-private: true, match: { gateway: desk } }
routes:
  - { name: lab, match: { gateway: lab }, skill: writer }
  - { name: all, skill: echo }
`,
  })
  site.write('skills/writer/SKILL.md', WRITER)
  const daemon = await site.start()
  const message = (gateway: string, from: string) => site.run(['message', gateway, 'hello', '--from', from])
  await message('desk', 'ada@example.com')
  await message('lab', 'bea@example.com')
  // A group that reads has copies of what its filter allows.
  for (const group of ['analytics', 'desk-sync', 'lab-sync'])
    await daemon.invoke('event-wait', { topic: 'gateway-message', queue: group, timeout: 30_000 })

  const shown = async (from: string) => {
    const [{ id }] = Object(await daemon.invoke('message-list', { sender: from }))
    return Object(await daemon.invoke('message-show', { id }))
  }
  await until(async () => (await shown('ada@example.com')).pushes.length > 0, 'an attempt of the push')
  await until(async () => (await shown('bea@example.com')).outcome === 'done', 'the answer of the model')

  test('only the receivers that got a message of theirs are named', async () => {
    const { out } = await site.run(['person', 'erase', 'ada@example.com'])
    assert.match(out, /^Copies may be at receivers of their messages: analytics, desk-sync, desks\. Ask/m)
    assert.doesNotMatch(out, /model providers/)
    const counted = Object(await daemon.invoke('person-count', { identity: 'ada@example.com', wait: 60_000 }))
    assert.deepEqual(counted.outside.receivers, ['analytics', 'desk-sync', 'desks'])
  })

  test('a model provider is named if it handled one of their messages', async () => {
    const { out } = await site.run(['person', 'erase', 'bea@example.com'])
    assert.match(out, /^Copies may be at receivers of their messages: analytics, lab-sync\. Ask/m)
    assert.match(out, /at model providers \(openai-compatible\)/)
  })

  test('the proof and the audit log name the same, and nobody after the erasure', async () => {
    const erase = ['person', 'erase', 'ada@example.com', '--confirm', '--wait', '60s']
    const { out } = await site.run(erase)
    assert.match(out, /^Copies may be at receivers of their messages: analytics, desk-sync, desks\. Ask/m)
    assert.match(out, /^Trivium cannot erase copies outside: in backups and in logs/m)
    const entries = JSON.parse((await site.run(['audit', '--action', 'person-erased', '--json'])).out)
    assert.equal(entries.entries[0].result.receivers, 'analytics, desk-sync, desks')
    assert.doesNotMatch((await site.run(erase)).out, /Copies/)
  })
})
