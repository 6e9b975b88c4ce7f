import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { TriviumError } from '../../../src/core/errors.ts'
import type { KeyValues } from '../../../src/core/store.ts'
import { createTokenSource } from '../../../transports/email/oauth.ts'
import { emailOptions } from '../../../transports/email/options.ts'
import { createRefreshTokens } from '../../../transports/email/refresh-tokens.ts'
import { type Dovecot, startDovecot } from '../../fixtures/dovecot.ts'
import { createMemoryStore, type MemoryStore } from '../../fixtures/memory-store.ts'
import { deliver, startSmtpServer } from '../../fixtures/smtp-server.ts'
import { until } from '../../fixtures/until.ts'
import { mail, replyTo, startWorld, type World } from './harness.ts'

const USER = 'support@example.com'
/** Every token that the provider gives, or is configured with. */
const SECRETS = /(access|refresh|restart|handed|shared|old|new|again|unsaved|broken)-\d/

/** A provider that ends a refresh token with its use, as Microsoft's can be told to. Only one of each is good. */
async function startProvider() {
  let issued = 0
  const good = { access: '', refresh: 'refresh-0' }
  const asked: string[] = []
  const used: string[] = []
  const refused: string[] = []
  let trouble: number | undefined
  const answer = async (request: IncomingMessage): Promise<[status: number, body: object]> => {
    if (request.url === '/introspect') {
      const token = /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
      asked.push(token)
      return token === good.access ? [200, { active: true, username: USER }] : [401, { active: false }]
    }
    const token = new URLSearchParams(await text(request)).get('refresh_token') ?? ''
    if (trouble !== undefined) return [trouble, {}]
    used.push(token)
    // Long enough for somebody else to ask with the same token.
    await setImmediate()
    if (token !== good.refresh) refused.push(token)
    if (token !== good.refresh) return [400, { error: 'invalid_grant' }]
    issued++
    Object.assign(good, { access: `access-${issued}`, refresh: `refresh-${issued}` })
    return [200, { access_token: good.access, refresh_token: good.refresh, expires_in: 3600 }]
  }
  const server = createServer(async (request, response) => {
    const [status, body] = await answer(request)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(address && typeof address === 'object')
  return {
    url: `http://127.0.0.1:${address.port}`,
    /** From now on the token endpoint answers with this status and does nothing; undefined: as always. */
    fail(status: number | undefined) {
      trouble = status
    },
    /** The tokens that the mail server asked about, in order. */
    asked,
    /** The refresh tokens that somebody tried, in order. */
    used,
    /** Those among them that were ended already. */
    refused,
    issued: () => issued,
    accessToken: () => good.access,
    refreshToken: () => good.refresh,
    /** Makes this the one refresh token that is good, as when a person authorizes again. */
    authorize(token: string) {
      Object.assign(good, { access: '', refresh: token })
    },
    /** Ends the access token long before the time it was given. */
    revoke() {
      good.access = ''
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

describe('a mailbox behind OAuth2', () => {
  let world: World
  let dovecot: Dovecot
  let provider: Awaited<ReturnType<typeof startProvider>>
  let dir: string
  before(async () => {
    world = await startWorld()
    provider = await startProvider()
    dir = await mkdtemp(join(tmpdir(), 'trivium-oauth-'))
    const file = join(dir, 'oauth2.conf')
    await writeFile(
      file,
      `introspection_mode = auth
introspection_url = ${provider.url}/introspect
username_attribute = username
active_attribute = active
active_value = true
`,
    )
    dovecot = await startDovecot({
      config: `
auth_mechanisms = xoauth2
auth_failure_delay = 0
service anvil {
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
passdb {
  driver = oauth2
  mechanisms = xoauth2
  args = ${file}
}`,
    })
  })
  after(async () => {
    await world.close()
    await dovecot.close()
    await provider.close()
    await rm(dir, { recursive: true, force: true })
  })

  const options = (refreshToken = 'refresh-0') => ({
    imap: {
      host: '127.0.0.1',
      port: dovecot.imapPort,
      tls: 'none',
      user: USER,
      oauth2: {
        'client-id': 'trivium',
        'refresh-token': refreshToken,
        'token-url': `${provider.url}/token`,
      },
    },
  })
  const send = (raw: string) =>
    deliver(dovecot.lmtpPort, { from: 'anna@example.net', to: [USER], raw: Buffer.from(raw) })

  test('is read on with a fresh token when the old one is refused before its time', async (t) => {
    const smtp = await startSmtpServer({
      lmtpPort: world.dovecot.lmtpPort,
      accessToken: provider.accessToken,
    })
    t.after(() => smtp.close())
    const { imap } = options()
    const daemon = await world.daemon({ imap, smtp: { ...imap, port: smtp.port } })
    await send(mail({ text: 'with the first token' }))
    await until(() => daemon.store.messages.length === 1, 'the first message')
    assert.equal(provider.issued(), 1)

    provider.revoke()
    await dovecot.kill()
    await dovecot.start()
    await send(mail({ text: 'with the second token' }))
    await until(() => daemon.store.messages.length === 2, 'the second message', 30_000)

    provider.revoke()
    await dovecot.kill()
    await dovecot.start()
    await send(mail({ text: 'with the third token' }))
    await until(() => daemon.store.messages.length === 3, 'the third message', 30_000)
    // What answers has the same login: its refresh token is the one that reading got, and no use ends it for both.
    const [message] = daemon.store.messages
    assert.ok(message)
    await daemon.transport.send(replyTo(message, 'with the third token as well'))
    assert.equal((await world.mailbox('anna@example.net')).length, 1)
    assert.equal(provider.issued(), 3)
    assert.deepEqual([...new Set(provider.asked)], ['access-1', 'access-2', 'access-3'])
    assert.doesNotMatch(JSON.stringify(daemon.logs), SECRETS)
    await daemon.stop()
  })

  test('is read on after a restart, with the refresh token that took the place of the configured one', async () => {
    provider.authorize('restart-0')
    const first = await world.daemon(options('restart-0'), { gateway: 'restarted' })
    await first.stop()
    assert.notEqual(provider.refreshToken(), 'restart-0')

    const second = await world.daemon(options('restart-0'), { gateway: 'restarted', store: first.store })
    await send(mail({ text: 'after the restart' }))
    await until(() => second.store.messages.length === 1, 'the message')
    assert.equal(provider.used.lastIndexOf('restart-0'), provider.used.indexOf('restart-0'))
    assert.doesNotMatch(await everythingIn(first.store), SECRETS)
    assert.doesNotMatch(JSON.stringify([first.logs, second.logs, second.transport.health()]), SECRETS)
    await second.stop()
  })

  test('goes to another daemon, which knows the refresh token that the first one got', async () => {
    provider.authorize('handed-0')
    const from = provider.refused.length
    const first = await world.daemon(options('handed-0'), { gateway: 'handed' })
    const second = await world.daemon(options('handed-0'), {
      gateway: 'handed',
      store: first.store,
      start: 'later',
    })
    await second.transport.start()
    await first.stop()
    await send(mail({ text: 'for the second daemon' }))
    await until(() => second.store.messages.length === 1, 'the message', 30_000)
    assert.deepEqual(provider.refused.slice(from), [])
    await second.stop()
  })

  test('is one login for all daemons that use it at once: none ends the refresh token of another', async () => {
    provider.authorize('shared-0')
    const from = provider.refused.length
    const store = createMemoryStore()
    const gateways = ['one', 'two', 'three']
    const daemons = await Promise.all(
      gateways.map((gateway) => world.daemon(options('shared-0'), { gateway, store })),
    )
    assert.deepEqual(provider.refused.slice(from), [])
    for (const daemon of daemons) await daemon.stop()
  })

  test('is read with a newly configured refresh token at once', async () => {
    provider.authorize('old-0')
    const before = await world.daemon(options('old-0'), { gateway: 'renewed' })
    await before.stop()

    provider.authorize('new-0')
    const from = provider.used.length
    const daemon = await world.daemon(options('new-0'), { gateway: 'renewed', store: before.store })
    await until(() => provider.used.length > from, 'a renewal')
    assert.deepEqual(provider.used.slice(from), ['new-0'])
    await daemon.stop()
  })

  test('falls back to the configured refresh token where the kept one has ended', async () => {
    provider.authorize('again-0')
    const before = await world.daemon(options('again-0'), { gateway: 'again' })
    await before.stop()

    const kept = provider.refreshToken()
    provider.authorize('again-0')
    const from = provider.used.length
    const daemon = await world.daemon(options('again-0'), { gateway: 'again', store: before.store })
    await send(mail({ text: 'with the configured one' }))
    await until(() => daemon.store.messages.length === 1, 'the message')
    assert.deepEqual(provider.used.slice(from), [kept, 'again-0'])
    await daemon.stop()

    const next = await world.daemon(options('again-0'), { gateway: 'again', store: before.store })
    await send(mail({ text: 'with the one after it' }))
    await until(() => next.store.messages.length === 2, 'the next message')
    assert.equal(provider.refused.at(-1), kept)
    await next.stop()
  })

  test('has no access token before the refresh token beside it is on the store, and loses neither', async () => {
    provider.authorize('unsaved-0')
    const { kv, leases } = createMemoryStore()
    const { oauth2 } = emailOptions.parse({
      address: USER,
      smtp: { host: 'x' },
      ...options('unsaved-0'),
    }).imap
    assert.ok(oauth2)
    let isAway = true
    const failing: KeyValues = {
      ...kv,
      set: async (...entry) => {
        if (isAway)
          throw new TriviumError('store_unavailable', { store: 'memory', reason: 'the test says so' })
        return kv.set(...entry)
      },
    }
    const tokens = createTokenSource(oauth2, createRefreshTokens({ kv: failing, leases }, oauth2), Date.now)
    await assert.rejects(tokens(), { code: 'store_unavailable' })
    isAway = false
    const from = provider.refused.length
    assert.equal(await tokens(), provider.accessToken())

    const restarted = createTokenSource(oauth2, createRefreshTokens({ kv, leases }, oauth2), Date.now)
    assert.equal(await restarted(), provider.accessToken())
    assert.deepEqual(provider.refused.slice(from), [])
  })

  test('does not use a token again that another daemon has followed up, where it was not told that it was saved', async () => {
    provider.authorize('late-0')
    const { kv, leases } = createMemoryStore()
    const { oauth2 } = emailOptions.parse({ address: USER, smtp: { host: 'x' }, ...options('late-0') }).imap
    assert.ok(oauth2)
    const deaf: KeyValues = {
      ...kv,
      set: async (...entry) => {
        await kv.set(...entry)
        throw new TriviumError('store_unavailable', { store: 'memory', reason: 'its answer was lost' })
      },
    }
    const first = createTokenSource(oauth2, createRefreshTokens({ kv: deaf, leases }, oauth2), Date.now)
    const second = createTokenSource(oauth2, createRefreshTokens({ kv, leases }, oauth2), Date.now)
    await assert.rejects(first(), { code: 'store_unavailable' })
    await second()
    const from = provider.refused.length
    await assert.rejects(first('renew'), { code: 'store_unavailable' })
    assert.deepEqual(provider.refused.slice(from), [])
  })

  test('takes the configured refresh token where what is kept cannot be read', async () => {
    provider.authorize('broken-0')
    const { kv, leases } = createMemoryStore()
    const { oauth2 } = emailOptions.parse({ address: USER, smtp: { host: 'x' }, ...options('broken-0') }).imap
    assert.ok(oauth2)
    const tokens = () => createTokenSource(oauth2, createRefreshTokens({ kv, leases }, oauth2), Date.now)()
    await tokens()
    const [key] = await kv.list('email-oauth2/', 10)
    assert.ok(key)
    for (const value of ['', 'short', 'A'.repeat(200), 7]) {
      await kv.set(key, value)
      provider.authorize('broken-0')
      assert.equal(await tokens(), provider.accessToken())
    }
  })

  test('does not blame the login for trouble at the provider, and gets its token when that is over', async () => {
    provider.authorize('trouble-0')
    const { oauth2 } = emailOptions.parse({
      address: USER,
      smtp: { host: 'x' },
      ...options('trouble-0'),
    }).imap
    assert.ok(oauth2)
    const tokens = createTokenSource(oauth2, createRefreshTokens(createMemoryStore(), oauth2), Date.now)
    for (const status of [503, 429]) {
      provider.fail(status)
      await assert.rejects(tokens(), (error: Error) => {
        assert.match(error.message, new RegExp(`just now \\(${status}\\)`))
        assert.doesNotMatch(error.message, /authorize/)
        return true
      })
    }
    provider.fail(undefined)
    assert.equal(await tokens(), provider.accessToken())
  })

  test('turns red, and says what to do, when the refresh token is refused', async () => {
    const daemon = await world.daemon(
      { ...options(), 'max-silence': '1s' },
      { start: 'later', gateway: 'revoked' },
    )
    await daemon.transport.start()
    const health = await until(() => {
      const now = daemon.transport.health()
      return now.ok ? undefined : now
    }, 'red health')
    assert.match(health.detail ?? '', /authorize again/)
    assert.doesNotMatch(JSON.stringify(daemon.logs), SECRETS)
    await daemon.stop()
  })
})

/** All that a store holds, keys and values, in one text. */
async function everythingIn({ kv, messages }: MemoryStore): Promise<string> {
  const keys = await kv.list('', 10_000)
  const values = await Promise.all(keys.map((key) => kv.get(key)))
  return JSON.stringify([keys, values, messages])
}
