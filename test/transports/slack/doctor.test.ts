import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { afterEach, describe, test } from 'node:test'
import { parse } from 'yaml'
import type { Check } from '../../../src/core/transport.ts'
import { slack } from '../../../transports/slack/index.ts'
import { openSite } from '../../fixtures/daemon.ts'
import { until } from '../../fixtures/until.ts'
import { socketOptions, startWorld, type World } from './harness.ts'

const MANIFEST = new URL('../../../ops/slack-manifest.yaml', import.meta.url)
const asked: string[] = parse(readFileSync(MANIFEST, 'utf8')).oauth_config.scopes.bot

let world: World
afterEach(() => world.close())

const about = (checks: Check[], name: string) => checks.find((check) => check.name.startsWith(name))

describe('the doctor', () => {
  test('is content with the scopes of the manifest, and names each of them that is missing', async () => {
    world = await startWorld({ progress: 'on' })
    const { server, transport } = world
    server.scopes = [...asked]
    assert.match(about(await transport.check(), 'Slack scopes')?.detail ?? '', /^all/)
    for (const scope of asked) {
      server.scopes = asked.filter((each) => each !== scope)
      const { ok, detail } = about(await transport.check(), 'Slack scopes') ?? {}
      assert.match(detail ?? '', new RegExp(`^missing ${scope}; add`))
      assert.equal(ok, scope !== 'chat:write')
    }
    // It could speak, but would hear nothing.
    server.scopes = ['chat:write', 'users:read']
    assert.equal(about(await transport.check(), 'Slack scopes')?.ok, false)
  })

  test('looks at the tokens of a gateway that was never started, and says nothing of a socket', async () => {
    world = await startWorld()
    const idle = await slack.create(socketOptions(world.server), world.fixture.deps)
    const opened = world.server.sockets.opened()
    const checks = await idle.check()
    await idle.close()
    const expected = ['Slack bot token of T0TEAM', 'Slack scopes in T0TEAM', 'Slack app token']
    assert.deepEqual(
      checks,
      expected.map((name, index) => ({ ...checks[index], name, ok: true })),
    )
    assert.equal(world.server.sockets.opened(), opened)
  })

  test('says which token is refused, that nothing was sent, and which Bolt app is broken all the same', async (t) => {
    world = await startWorld()
    const { server } = world
    const site = openSite({
      routes: `
gateways: { team: { transport: slack, mode: socket, bot-token: xoxb-test, app-token: xapp-test, api-url: "${server.apiUrl}" } }
routes: [{ name: app, match: { gateway: team }, bolt: ./app.cjs }]`,
    })
    site.write('app.cjs', "const { App } = require('@slack/bolt')\nnew App({}).mesage('x', () => {})\n")
    const refused = { body: { ok: false, error: 'invalid_auth' } }
    server.fail('auth.test', ...Array.from({ length: 100 }, () => refused))
    server.fail('apps.connections.open', ...Array.from({ length: 100 }, () => refused))
    const doctor = (await site.run(['doctor'])).out
    assert.match(doctor, /Slack bot token .*Slack refuses the bot token: invalid_auth/)
    assert.match(doctor, /Slack app token .*invalid_auth/)
    assert.match(doctor, /Bolt app .*app\.cjs cannot be loaded/)
    assert.doesNotMatch(doctor, /could not send/)
    await site.start()
    t.after(() => site.run(['stop']))
    const gateway = async () => (await site.run(['gateway', 'list', '--json'])).out
    await until(async () => /app\.cjs cannot be loaded/.test(await gateway()), 'the broken app in the status')
    assert.match(await gateway(), /Slack refuses the bot token: invalid_auth/)
  })
})
