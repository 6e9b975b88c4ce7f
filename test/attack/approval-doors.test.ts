import assert from 'node:assert/strict'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  chat: { transport: websocket, path: /chat }
routes:
  - { name: refunds, match: { prefix: refund }, skill: refund, approval: true }
  - { name: nested, match: { prefix: nested }, skill: nested }
  - { name: trusted, match: { prefix: trusted }, skill: refund }
`
const SKILLS = {
  refund: `import { writeFileSync } from 'node:fs'
export default { description: 'refunds', run: () => { writeFileSync(new URL('../../refunded', import.meta.url), ''); return 'refunded' } }`,
  nested: `export default { description: 'calls refund', run: ({ manager }) => manager.invoke('refund', {}) }`,
}

describe('a skill whose route needs an approval', { timeout: 300_000 }, () => {
  const suite = suiteWithDaemon({ routes: ROUTES, skills: SKILLS })
  const isRefunded = () => existsSync(join(suite.site.dir, 'refunded'))
  const pending = async () => Object(await suite.daemon.invoke('approval-list', { status: 'pending' }))[0]

  const mcp = async (method: string, params: object, session?: string) => {
    const response = await fetch(`${suite.daemon.control}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${suite.daemon.token}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...(session && { 'mcp-session-id': session }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    return { session: response.headers.get('mcp-session-id') ?? '', text: await response.text() }
  }
  const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } }

  /** All ways to call the skill. */
  const doors: Record<string, () => Promise<unknown>> = {
    'its route': async () => (await suite.daemon.chat('/chat')).send({ text: 'refund' }),
    HTTP: () => suite.daemon.invoke('refund'),
    'the command line': () => suite.site.run(['refund']),
    MCP: async () =>
      mcp('tools/call', { name: 'refund', arguments: {} }, (await mcp('initialize', hello)).session),
    'another skill': () => suite.daemon.invoke('nested'),
    'another skill of a route': async () => (await suite.daemon.chat('/chat')).send({ text: 'nested' }),
    'a schedule': () => suite.daemon.invoke('schedule-create', { skill: 'refund', every: '1s' }),
    'an event': async () => {
      await suite.daemon.invoke('event-subscribe', { topic: 'refunds', ref: 'refund' })
      return suite.daemon.invoke('event-emit', { topic: 'refunds' })
    },
  }
  for (const [door, call] of Object.entries(doors)) {
    test(`waits for the approval when it is called by ${door}`, async () => {
      const called = call().catch((error: unknown) => error)
      const { id } = await until(pending, 'a request for approval')
      assert.equal(isRefunded(), false)
      for (const { id: schedule } of Object(await suite.daemon.invoke('schedule-list')))
        await suite.daemon.invoke('schedule-delete', { id: schedule })
      await suite.daemon.invoke('approval-decide', { id, approve: true })
      await until(isRefunded, 'the refund')
      await called
      await until(async () => (await pending()) === undefined, 'no request')
      rmSync(join(suite.site.dir, 'refunded'))
    })
  }

  test('runs at once by a route without `approval`', async () => {
    const { ask } = await suite.daemon.chat('/chat')
    assert.equal(await ask('trusted'), 'refunded')
  })

  test('has the approval in its metadata', async () => {
    const { result } = Object(await suite.daemon.get('/v1/skills/refund'))
    assert.equal(result.metadata.approval, true)
  })
})
