import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { slackOptions } from '../../../transports/slack/options.ts'
import { openSite } from '../../fixtures/daemon.ts'
import { startRedisServer } from '../../fixtures/redis-server.ts'
import type { Place } from '../../fixtures/slack-oauth.ts'
import { type SlackServer, startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { callback, replyTo, type SlackSetup, signed, startSlackGateway } from './harness.ts'

/** Remaining lifetimes of tokens: due for renewal and not due. */
const DUE_SECONDS = 3_600
const NOT_DUE_SECONDS = 43_200
const CLIENT = { 'client-id': '1.2', 'client-secret': 'client-secret' }

let setup: SlackSetup
let slack: SlackServer

async function open(): Promise<void> {
  setup = await startSlackGateway({ 'bot-token': undefined, oauth: CLIENT })
  slack = setup.server
  after(() => setup.close())
}

/**
 * Opens the install page, allows the app at Slack, and follows the redirect with the browser's
 * cookie. `more` replaces the cookie or the state.
 */
async function install(url: string, place: Place, more: { cookie?: string; state?: string } = {}) {
  const redirect = await fetch(`${url}/slack/install`, { redirect: 'manual' })
  const authorizeUrl = new URL(redirect.headers.get('location') ?? '')
  const [cookie = ''] = (redirect.headers.get('set-cookie') ?? '').split(';')
  const state = more.state ?? authorizeUrl.searchParams.get('state') ?? ''
  const query = new URLSearchParams({ code: slack.oauth.allow(place), state })
  const headers = { cookie: more.cookie ?? cookie }
  const { status } = await fetch(`${url}/slack/oauth_redirect?${query}`, { headers })
  return { authorizeUrl, status }
}

/**
 * An event in a workspace. With `enterprise`, the organisation has the app: the authorization has
 * no team.
 */
function eventIn(team: string, event: JsonObject = {}, enterprise?: string): JsonObject {
  const authorized = enterprise ? { enterprise_id: enterprise, team_id: null } : { team_id: team }
  const payload = callback({ text: 'hello', ts: slack.nextTs(), ...event })
  return { ...payload, ...authorized, team_id: team, authorizations: [authorized] }
}

const deliver = async (payload: JsonObject) =>
  assert.ok((await slack.sockets.deliver('events_api', payload)).acked)
const tokensOf = (method: string) => slack.calls.flatMap((call) => (call.method === method ? call.token : []))
/** The refresh tokens that were used. */
const refreshed = () => slack.calls.flatMap(({ args }) => args.refresh_token ?? [])
const isOfBot = (token: unknown) => token !== 'xoxe-1-user'
const messages = () => setup.fixture.store.messages

test('an app is installed by a browser, answers with the token of each workspace, and is removed by a command', async () => {
  slack = await startSlackServer()
  after(() => slack.close())
  const site = openSite({
    env: { CLIENT_SECRET: CLIENT['client-secret'] },
    routes: `
gateways:
  team:
    { transport: slack, mode: socket, app-token: xapp-test, api-url: "${slack.apiUrl}", progress: off,
      oauth: { client-id: "1.2", client-secret: "\${CLIENT_SECRET}", user-scopes: [search:read] } }
routes:
  - { name: app, match: { gateway: team, text: "app*" }, bolt: ./app.mjs }
  - { name: talk, match: { gateway: team, event: message }, skill: echo }
`,
  })
  site.write(
    'app.mjs',
    'export default (app) => app.message("app", ({ say, context }) => say("user: " + Boolean(context.userToken)))',
  )
  const daemon = await site.start()
  const { authorizeUrl, status } = await install(daemon.url, { team: 'T1' })
  assert.equal(status, 200)
  assert.equal(authorizeUrl.origin + authorizeUrl.pathname, new URL('/oauth/v2/authorize', slack.apiUrl).href)
  assert.match(
    decodeURIComponent(authorizeUrl.search),
    /scope=app_mentions:read,.*&client_id=1.2&user_scope=search:read$/,
  )
  assert.equal((await install(daemon.url, { enterprise: 'E1' })).status, 200)

  await until(() => slack.sockets.open() === 1, 'a socket')
  await deliver(eventIn('T1'))
  await deliver(eventIn('T1ORG', { channel: 'C2' }, 'E1'))
  await deliver(eventIn('T1', { channel: 'C3', text: 'app', user: 'U1ANN' }))
  await deliver(eventIn('T1', { channel: 'C4', text: 'app', user: 'U2BOB' }))
  await until(() => slack.posts.length === 4, 'four answers')
  const [own, org] = [slack.oauth.tokenOf('T1') ?? '', slack.oauth.tokenOf('E1') ?? '']
  assert.deepEqual(tokensOf('chat.postMessage').sort(), [own, own, own, org].sort())
  const answers = slack.posts.map(({ text }) => text).sort()
  assert.deepEqual(answers, ['You said: hello', 'You said: hello', 'user: false', 'user: true'])

  const { out } = await site.run(['slack', 'installs', '--json'])
  const listed = JSON.parse(out).map(({ at: _at, ...rest }: JsonObject) => rest)
  const installed = (team: string) => ({ gateway: 'team', team, name: `name of ${team}`, by: 'U1ANN' })
  assert.deepEqual(listed, [installed('E1'), installed('T1')])
  const dir = join(site.dir, '.trivium')
  const files = readdirSync(dir).filter((name) => name.startsWith('trivium.db'))
  const stored = files.map((name) => readFileSync(join(dir, name), 'latin1')).join() + out + daemon.output()
  assert.ok(stored.includes('slack/team/install/T1'))
  assert.doesNotMatch(stored, /xox|client-secret/)

  assert.equal((await site.run(['slack', 'installs', 'remove', 'T1'])).code, 0)
  assert.deepEqual(tokensOf('auth.revoke'), ['xoxp-secret', own])
  // Slack reports the revocation; later messages of this workspace are refused.
  await deliver(eventIn('T1', { type: 'tokens_revoked', tokens: { bot: ['UT1BOT'] } }))
  await deliver(eventIn('T1'))
  assert.match((await site.run(['status'])).out, /nobody installed the app there/)
  assert.equal((await site.run(['refused'])).out.match(/team\tT1\t.*nobody installed/g)?.length, 1)
  assert.equal((await site.run(['slack', 'installs', 'remove', 'T1'])).code, 1)
  assert.equal((await install(daemon.url, { team: 'T1' })).status, 200)
  await deliver(eventIn('T1'))
  await until(() => slack.posts.length === 5, 'an answer again')
  assert.doesNotMatch((await site.run(['status'])).out, /nobody installed/)
})

test('two daemons on one Redis share an installation over HTTP, and renew its token once', async () => {
  slack = await startSlackServer()
  const redis = await startRedisServer()
  after(() => Promise.all([slack.close(), redis.stop()]))
  const site = openSite({
    ownProcess: true,
    env: { CLIENT_SECRET: CLIENT['client-secret'], REDIS_URL: redis.url },
    routes: `
gateways:
  team:
    { transport: slack, mode: http, signing-secret: shhh, api-url: "${slack.apiUrl}", progress: off,
      oauth: { client-id: "1.2", client-secret: "\${CLIENT_SECRET}" } }
routes: [{ name: talk, match: { gateway: team }, skill: echo }]
`,
  })
  const one = await site.start()
  const two = await site.start({ TRIVIUM_DATA_DIR: '.trivium-2' })
  slack.oauth.expires = DUE_SECONDS
  assert.equal((await install(one.url, { team: 'T1' })).status, 200)
  const first = slack.oauth.tokenOf('T1')
  const post = async ({ url }: { url: string }, channel: string) => {
    const body = JSON.stringify(eventIn('T1', { channel }))
    const headers = { 'content-type': 'application/json', ...signed(body, 'shhh') }
    assert.equal((await fetch(`${url}/slack/events`, { method: 'POST', body, headers })).status, 200)
  }
  await Promise.all([post(one, 'C1'), post(two, 'C2')])
  await until(() => slack.posts.length === 2, 'two answers')
  assert.equal(refreshed().filter(isOfBot).length, 1)
  await one.end('SIGKILL')
  await post(two, 'C3')
  await until(() => slack.posts.length === 3, 'an answer of the second')
  const both = [first, slack.oauth.tokenOf('T1')]
  assert.equal(new Set(both).size, 2)
  assert.ok(tokensOf('chat.postMessage').every((token) => both.includes(token)))
})

describe('an installation', () => {
  test('is refused, without a request for a token, if another browser began it or the state is forged', async () => {
    await open()
    const { url, refused } = setup.fixture
    for (const more of [{ cookie: '' }, { cookie: 'slack-app-oauth-state=forged', state: 'forged' }]) {
      assert.equal((await install(url, { team: 'T1' }, more)).status, 400)
    }
    assert.deepEqual([refused, tokensOf('oauth.v2.access')], [['install_failed', 'install_failed'], []])
    await deliver(eventIn('T1'))
    assert.deepEqual([messages().length, setup.transport.health().ok], [0, false])
  })

  test('is shared with a second daemon, and ends for both when the app is uninstalled', async () => {
    await open()
    const { transport } = await setup.another()
    await install(setup.fixture.url, { team: 'T1' })
    await deliver(eventIn('T1'))
    const [message] = messages()
    assert.ok(message)
    await transport.send(replyTo(message, 'from the second'))
    assert.deepEqual(tokensOf('chat.postMessage'), [slack.oauth.tokenOf('T1')])
    slack.oauth.revoke('T1')
    await deliver(eventIn('T1', { type: 'tokens_revoked', tokens: { oauth: ['U1ANN'] } }))
    await deliver(eventIn('T1', { type: 'app_uninstalled' }))
    await deliver(eventIn('T1', { type: 'tokens_revoked', tokens: { bot: ['UT1BOT'] } }))
    const events = messages().map(({ data }) => [data.event].flat()[0])
    assert.deepEqual(events.slice(1), ['tokens_revoked', 'app_uninstalled', 'tokens_revoked'])
    assert.deepEqual(await setup.transport.installs?.list(), [])
    // A looked-up installation is cached for some seconds.
    await until(async () => {
      const { length } = messages()
      await deliver(eventIn('T1'))
      return messages().length === length
    }, 'no further message of the workspace')
    const sendError = () => transport.send(replyTo(message, 'x', { key: 'x' })).catch(({ code }) => code)
    await until(async () => (await sendError()) === 'send_rejected', 'a rejected reply')
  })

  test('is not ended by a late event about an earlier installation', async () => {
    await open()
    await install(setup.fixture.url, { team: 'T1' })
    const event_time = Math.floor(Date.now() / 1000) - 60
    await deliver({ ...eventIn('T1', { type: 'app_uninstalled' }), event_time })
    assert.equal((await setup.transport.installs?.list())?.length, 1)
  })

  test('of an organisation stays when one of its workspaces removes the app', async () => {
    await open()
    await install(setup.fixture.url, { enterprise: 'E1' })
    await deliver(eventIn('T1ORG', { type: 'app_uninstalled' }, 'E1'))
    assert.equal((await setup.transport.installs?.list())?.length, 1)
    await deliver(eventIn('T2ORG', {}, 'E1'))
    const last = messages().at(-1)
    assert.deepEqual([last?.data.team, last?.text], ['E1', 'hello'])
    slack.oauth.revoke('E1')
    // A new daemon has no cached list of the organisation's workspaces, and its token is revoked.
    await setup.transport.stop()
    await setup.another()
    await deliver(eventIn('T2ORG', { type: 'app_uninstalled' }, 'E1'))
    assert.deepEqual(await setup.transport.installs?.list(), [])
  })

  test('has its tokens renewed by only one daemon, with each refresh token used once', async () => {
    await open()
    const { transport } = await setup.another()
    slack.oauth.expires = DUE_SECONDS
    for (const team of ['T1', 'T2', 'T3']) await install(setup.fixture.url, { team })
    const before = slack.oauth.tokenOf('T1')
    const send = (by: SlackSetup['transport'], team: string, key: string) =>
      by.send({ key, gateway: 'team', conversation: `slack:${team}:C${key}`, text: 'hi' })
    for (const team of ['T1', 'T2', 'T3']) {
      await Promise.all([send(setup.transport, team, `${team}A`), send(transport, team, `${team}B`)])
    }
    await until(async () => {
      await send(transport, 'T1', crypto.randomUUID())
      return tokensOf('chat.postMessage').at(-1) === slack.oauth.tokenOf('T1')
    }, 'the new token on the second daemon')
    assert.notEqual(slack.oauth.tokenOf('T1'), before)
    const used = refreshed()
    const ofBots = used.filter(isOfBot)
    assert.deepEqual([ofBots.length, new Set(ofBots).size], [3, 3])
    // An expired user token alone is not renewed.
    slack.oauth.expires = NOT_DUE_SECONDS
    await install(setup.fixture.url, { team: 'T4' })
    await send(transport, 'T4', 'T4')
    assert.deepEqual(refreshed(), used)
  })
})

test('a gateway must have either bot tokens or OAuth', () => {
  for (const wrong of [{}, { 'bot-token': 'x', oauth: CLIENT }]) {
    const { error } = slackOptions.safeParse({ mode: 'socket', 'app-token': 'xapp', ...wrong })
    assert.match(error?.issues[0]?.message ?? '', /either `bot-token`, or `oauth`/)
  }
})
