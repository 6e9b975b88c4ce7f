import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { allKeys } from '../../../src/core/all-keys.ts'
import { TriviumError } from '../../../src/core/errors.ts'
import type { KeyValues } from '../../../src/core/store.ts'
import { createTokenSource } from '../../../transports/email/oauth.ts'
import { emailOptions } from '../../../transports/email/options.ts'
import { startDovecot } from '../../fixtures/dovecot.ts'
import { temporaryDir } from '../../fixtures/folder.ts'
import { serveHttp } from '../../fixtures/http-server.ts'
import { createMemoryStore, type MemoryStore } from '../../fixtures/memory-store.ts'
import { deliver, startSmtpServer } from '../../fixtures/smtp-server.ts'
import { until } from '../../fixtures/until.ts'
import { mail, replyTo, startWorld } from './harness.ts'

const USER = 'support@example.com'
/** Every token that the provider gives, or is configured with. */
const SECRETS = /(access|refresh|restart)-\d/

/** A provider that ends a refresh token with its use, as Microsoft's can be told to. Only one of each is good. */
async function startProvider() {
  let issued = 0
  const good = { access: '', refresh: 'refresh-0' }
  const used: string[] = []
  const refused: string[] = []
  let trouble: number | undefined
  const answer = async (request: IncomingMessage): Promise<[status: number, body: object]> => {
    if (request.url === '/introspect') {
      const isGood = request.headers.authorization === `Bearer ${good.access}`
      return isGood ? [200, { active: true, username: USER }] : [401, { active: false }]
    }
    if (trouble !== undefined) return [trouble, {}]
    const token = new URLSearchParams(await text(request)).get('refresh_token') ?? ''
    used.push(token)
    // Long enough for somebody else to ask with the same token.
    await setImmediate()
    if (token !== good.refresh) refused.push(token)
    if (token !== good.refresh) return [400, { error: 'invalid_grant' }]
    issued++
    Object.assign(good, { access: `access-${issued}`, refresh: `refresh-${issued}` })
    return [200, { access_token: good.access, refresh_token: good.refresh, expires_in: 3600 }]
  }
  const { url, close } = await serveHttp(async (request, response) => {
    const [status, body] = await answer(request)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  after(close)
  return {
    url,
    /** The refresh tokens that somebody tried, in order, and those among them that were ended already. */
    used,
    refused,
    issued: () => issued,
    accessToken: () => good.access,
    refreshToken: () => good.refresh,
    /** Makes this the one refresh token that is good, as when a person authorizes again. */
    authorize(token: string) {
      Object.assign(good, { access: '', refresh: token })
      used.length = 0
      refused.length = 0
    },
    /** From now on the token endpoint answers with this status and does nothing; undefined: as always. */
    fail(status: number | undefined) {
      trouble = status
    },
    /** Ends the access token long before the time it was given. */
    revoke() {
      good.access = ''
    },
  }
}

const world = await startWorld()
const provider = await startProvider()
const file = join(temporaryDir({ after }), 'oauth2.conf')
await writeFile(
  file,
  `introspection_mode = auth
introspection_url = ${provider.url}/introspect
username_attribute = username
active_attribute = active
active_value = true
`,
)
const dovecot = await startDovecot({
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
after(() => dovecot.close())

const optionsWith = (refreshToken: string) => {
  const oauth2 = {
    'client-id': 'trivium',
    'refresh-token': refreshToken,
    'token-url': `${provider.url}/token`,
  }
  return { imap: { host: '127.0.0.1', port: dovecot.imapPort, tls: 'none', user: USER, oauth2 } }
}

describe('a mailbox behind OAuth2', () => {
  const send = (text: string) =>
    deliver(dovecot.lmtpPort, { from: 'anna@example.net', to: [USER], raw: Buffer.from(mail({ text })) })

  test('is read and answered with a fresh token when the old one is refused before its time, also after a restart', async (t) => {
    const lmtpPort = world.dovecot.lmtpPort
    const smtp = await startSmtpServer({ lmtpPort, accessToken: provider.accessToken })
    t.after(() => smtp.close())
    const { imap } = optionsWith('refresh-0')
    const options = { imap, smtp: { ...imap, port: smtp.port } }
    const first = await world.daemon(options)
    await send('with the first token')
    await first.message()

    provider.revoke()
    await dovecot.kill()
    await dovecot.start()
    await send('with the second token')
    await first.message(1)
    // What answers has the same login: its refresh token is the one that reading got.
    await first.transport.send(replyTo(await first.message(), 'with the second token as well'))
    assert.equal((await world.mailbox('anna@example.net')).length, 1)
    await first.stop()

    const { store } = first
    const second = await world.daemon(options, { store })
    await send('after the restart')
    await second.message(2)
    assert.deepEqual(provider.refused, [])
    const logs = JSON.stringify([first.logs, second.logs, second.transport.health()])
    assert.doesNotMatch(`${logs}${await everythingIn(store)}`, SECRETS)
  })

  test('is answered with a fresh token where SMTP refused the one at hand', async (t) => {
    const revoked = provider.issued() + 1
    const accessToken = () => (provider.issued() > revoked ? provider.accessToken() : 'another')
    const smtp = await startSmtpServer({ accessToken })
    t.after(() => smtp.close())
    const { imap } = optionsWith(provider.refreshToken())
    const daemon = await world.daemon({ smtp: { ...imap, port: smtp.port } }, { gateway: 'smtp-only' })
    await world.deliver(mail({}))
    const reply = replyTo(await daemon.message(), 'Hi')
    await daemon.transport.send(reply)
    assert.equal(smtp.taken.length, 1)
    assert.equal(daemon.transport.health().ok, true)
    await daemon.stop()
  })

  test('turns red, and says what to do, when the refresh token is refused', async () => {
    const daemon = await world.daemon(optionsWith('refresh-0'), { start: 'later', gateway: 'revoked' })
    await daemon.transport.start()
    await until(() => !daemon.transport.health().ok, 'red health')
    assert.match(daemon.transport.health().detail ?? '', /authorize again/)
    assert.doesNotMatch(JSON.stringify(daemon.logs), SECRETS)
    await daemon.stop()
  })
})

describe('the tokens of a login', () => {
  const sourceOn = (store: Pick<MemoryStore, 'kv' | 'leases'>, configured: string) => {
    const { imap } = emailOptions.parse({ address: USER, smtp: { host: 'x' }, ...optionsWith(configured) })
    assert.ok(imap?.oauth2)
    return createTokenSource(imap.oauth2, { ...store, now: Date.now })
  }

  test('are the same for all daemons that use it at once: none ends the refresh token of another', async () => {
    provider.authorize('shared-0')
    const store = createMemoryStore()
    await Promise.all([1, 2, 3].map(() => sourceOn(store, 'shared-0')()))
    assert.deepEqual(provider.refused, [])
  })

  test('begin afresh with a newly configured refresh token, and fall back to it where the kept one has ended', async () => {
    const store = createMemoryStore()
    for (const configured of ['old-0', 'new-0']) {
      provider.authorize(configured)
      await sourceOn(store, configured)()
      assert.deepEqual(provider.used, [configured])
    }
    const kept = provider.refreshToken()
    provider.authorize('new-0')
    await sourceOn(store, 'new-0')()
    assert.deepEqual(provider.used, [kept, 'new-0'])
    await sourceOn(store, 'new-0')()
    assert.deepEqual(provider.refused, [kept])
  })

  test('come from the configured refresh token where what is kept cannot be read', async () => {
    provider.authorize('broken-0')
    const store = createMemoryStore()
    await sourceOn(store, 'broken-0')()
    const [key = ''] = (await store.kv.list('email-oauth2/', 10)).items
    for (const value of ['', 'short', 'A'.repeat(200), 7]) {
      await store.kv.set(key, value)
      provider.authorize('broken-0')
      assert.equal(await sourceOn(store, 'broken-0')(), provider.accessToken())
    }
  })

  test('are not to blame for trouble at the provider, and come when that is over', async () => {
    provider.authorize('trouble-0')
    const tokens = sourceOn(createMemoryStore(), 'trouble-0')
    for (const status of [503, 429]) {
      provider.fail(status)
      await assert.rejects(tokens(), (error: Error) => !error.message.includes('authorize'))
    }
    provider.fail(undefined)
    assert.equal(await tokens(), provider.accessToken())
  })

  test('are not given before the refresh token beside them is on the store, and none is lost', async () => {
    provider.authorize('unsaved-0')
    const { kv, leases } = createMemoryStore()
    let isAway = true
    const failing: KeyValues = {
      ...kv,
      set: async (...entry) =>
        isAway
          ? Promise.reject(new TriviumError('store_unavailable', { store: 'memory', reason: 'x' }))
          : kv.set(...entry),
    }
    const tokens = sourceOn({ kv: failing, leases }, 'unsaved-0')
    await assert.rejects(tokens(), { code: 'store_unavailable' })
    isAway = false
    provider.refused.length = 0
    assert.equal(await tokens(), provider.accessToken())
    assert.equal(await sourceOn({ kv, leases }, 'unsaved-0')(), provider.accessToken())
    assert.deepEqual(provider.refused, [])
  })
})

/** All that a store holds, keys and values, in one text. */
async function everythingIn({ kv, messages }: MemoryStore): Promise<string> {
  const keys = await allKeys(kv, '')
  const values = await Promise.all(keys.map((key) => kv.get(key)))
  return JSON.stringify([keys, values, messages])
}
