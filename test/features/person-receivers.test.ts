import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'

test('the proof of an erasure names the receivers that may have copies', { timeout: 120_000 }, async () => {
  const site = openSite({
    routes:
      'gateways: { desk: { transport: cli } }\nmodel: { name: "anthropic:claude-x" }\ntopics: { gateway-message: { groups: { analytics: {} } } }\nroutes: [{ name: all, skill: echo }]',
  })
  await site.start()
  const erase = ['person', 'erase', 'ada@example.com', '--confirm', '--wait', '60s']
  await site.run(['message', 'desk', 'hello', '--from', 'ada@example.com'])
  const before = (await site.run(['person', 'erase', 'ada@example.com'])).out
  assert.match(before, /^Copies may be at receivers of their messages: analytics\./m)
  assert.match(before, /at model providers \(anthropic\)/)
  const { out } = await site.run(erase)
  assert.match(out, /^Copies may be at receivers of their messages: analytics\. Ask them/m)
  assert.match(
    out,
    /^Trivium cannot erase copies outside: at model providers \(anthropic\), in backups and in logs/m,
  )
  const entries = JSON.parse((await site.run(['audit', '--action', 'person-erased', '--json'])).out)
  assert.equal(entries.entries[0].result.receivers, 'analytics')
  // Nothing was erased, so nobody has copies.
  assert.doesNotMatch((await site.run(erase)).out, /Copies/)
})
