import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { routeSchema } from '../../../src/config/route-schema.ts'
import { completeMessage } from '../../../src/core/message.ts'
import { slack as kind } from '../../../transports/slack/index.ts'
import { type SlackServer, startSlackServer } from '../../fixtures/slack-server.ts'
import { startTransportFixture, type TransportFixture } from '../../fixtures/transport-deps.ts'
import { callback, socketOptions } from './harness.ts'

/** An app that posts how many messages it has seen. */
const COUNTER = `
let count = 0
export default (app) => app.message('go', ({ say }) => say('seen ' + ++count))
`

let slack: SlackServer
let dir: string
let fixture: TransportFixture
let file: string
/** The callbacks of the watched files. */
let watches: (() => Promise<void>)[]
beforeEach(async () => {
  slack = await startSlackServer()
  dir = mkdtempSync(join(tmpdir(), 'trivium-bolt-'))
  file = join(dir, 'app.mjs')
  watches = []
  fixture = await startTransportFixture({
    routes: [routeSchema.parse({ name: 'app', match: {}, bolt: file })],
    modules: {
      async watch(_file, changed) {
        watches.push(changed)
        return async () => {}
      },
    },
  })
})
afterEach(async () => {
  await fixture.close()
  await slack.close()
  rmSync(dir, { recursive: true, force: true })
})

test('a new version that ends its process while it is loaded does not replace the last good one', async () => {
  writeFileSync(file, COUNTER)
  const { runListeners, close } = await kind.create(socketOptions(slack), fixture.deps)
  let serial = 0
  const go = async () => {
    const id = `M${++serial}`
    const message = completeMessage(
      { id, gateway: 'test', receivedAt: 0 },
      {
        transport: 'slack',
        from: { id: 'U1ANN', address: 'U1ANN', verified: true },
        to: 'C0GEN',
        text: 'go',
        data: { team: 'T0TEAM', payload: callback({ text: 'go', ts: slack.nextTs() }) },
      },
    )
    const { signal } = new AbortController()
    await runListeners?.(file, { message, route: 'app', signal, timeout: 30_000 })
  }
  await go()
  writeFileSync(file, 'process.exit(1)')
  for (const changed of watches) await changed()
  await go()
  assert.deepEqual(
    slack.posts.map(({ text }) => text),
    ['seen 1', 'seen 2'],
  )
  await close?.()
})

test('a gateway that is stopped before Slack says who the bot is starts no apps', async () => {
  writeFileSync(file, COUNTER)
  const transport = await kind.create(socketOptions(slack), fixture.deps)
  await transport.start()
  await transport.stop()
  await transport.close?.()
  // Also waits for the identity of the bot, and fails because the gateway is closed.
  const reply = { key: 'k', gateway: 'test', conversation: 'c', to: 'C0GEN', text: 'hi' }
  await assert.rejects(transport.send(reply))
  assert.ok(slack.calls.some(({ method }) => method === 'auth.test'))
  assert.equal(watches.length, 0)
})
