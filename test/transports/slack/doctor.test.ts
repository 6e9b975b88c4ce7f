import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { afterEach, describe, test } from 'node:test'
import { parse } from 'yaml'
import type { Check } from '../../../src/core/transport.ts'
import { slack } from '../../../transports/slack/index.ts'
import { openSite } from '../../fixtures/daemon.ts'
import { until } from '../../fixtures/until.ts'
import { type SlackSetup, socketOptions, startSlackGateway } from './harness.ts'

const MANIFEST = new URL('../../../ops/slack-manifest.yaml', import.meta.url)
const manifestScopes: string[] = parse(readFileSync(MANIFEST, 'utf8')).oauth_config.scopes.bot

let setup: SlackSetup
afterEach(() => setup.close())

const checkOf = (checks: Check[], name: string) => checks.find((check) => check.name.startsWith(name))

describe('the doctor', () => {
  test('accepts the scopes of the manifest, and names each missing one', async () => {
    setup = await startSlackGateway({ progress: 'on' })
    const { server, transport } = setup
    server.scopes = [...manifestScopes]
    assert.match(checkOf(await transport.check(), 'Slack scopes')?.detail ?? '', /^all/)
    for (const scope of manifestScopes) {
      server.scopes = manifestScopes.filter((each) => each !== scope)
      const { ok, detail } = checkOf(await transport.check(), 'Slack scopes') ?? {}
      assert.match(detail ?? '', new RegExp(`^missing ${scope}; add`))
      assert.equal(ok, scope !== 'chat:write')
    }
    // The app could post, but would receive no events.
    server.scopes = ['chat:write', 'users:read']
    assert.equal(checkOf(await transport.check(), 'Slack scopes')?.ok, false)
  })

  test('checks the tokens of a gateway that is not started, without opening a socket', async () => {
    setup = await startSlackGateway()
    const idle = await slack.create(socketOptions(setup.server), setup.fixture.deps)
    const opened = setup.server.sockets.opened()
    const checks = await idle.check()
    await idle.close()
    const expected = ['Slack bot token of T0TEAM', 'Slack scopes in T0TEAM', 'Slack app token']
    assert.deepEqual(
      checks,
      expected.map((name, index) => ({ ...checks[index], name, ok: true })),
    )
    assert.equal(setup.server.sockets.opened(), opened)
  })

  test('names each refused token and also a broken Bolt app', async (t) => {
    setup = await startSlackGateway()
    const { server } = setup
    const site = openSite({
      routes: `
gateways: { team: { transport: slack, mode: socket, bot-token: xoxb-test, app-token: xapp-test, api-url: "${server.apiUrl}" } }
routes: [{ name: app, match: { gateway: team }, bolt: ./app.cjs }]`,
    })
    site.write('app.cjs', "const { App } = require('@slack/bolt')\nnew App({}).mesage('x', () => {})\n")
    const refused = { body: { ok: false, error: 'invalid_auth' } }
    server.answerNext('auth.test', ...Array.from({ length: 100 }, () => refused))
    server.answerNext('apps.connections.open', ...Array.from({ length: 100 }, () => refused))
    const doctor = (await site.run(['doctor'])).out
    assert.match(doctor, /Slack bot token .*Slack refuses the bot token: invalid_auth/)
    assert.match(doctor, /Slack app token .*invalid_auth/)
    assert.match(doctor, /Bolt app .*app\.cjs cannot be loaded/)
    assert.doesNotMatch(doctor, /could not send/)
    const daemon = await site.start()
    t.after(() => site.run(['stop']))
    const gateway = async () => (await site.run(['gateway', 'list', '--json'])).out
    await until(async () => /app\.cjs cannot be loaded/.test(await gateway()), 'the broken app in the status')
    assert.match(await gateway(), /Slack refuses the bot token: invalid_auth/)
    assert.match(daemon.output(), /"reason":"Slack refuses the bot token: invalid_auth\b/)
    assert.doesNotMatch(daemon.output(), /could not send/)
  })
})
