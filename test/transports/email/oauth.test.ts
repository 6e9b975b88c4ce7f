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
import { mail, replyTo, startMailServer } from './harness.ts'

const USER = 'support@example.com'
/** All tokens that the provider issues or that are configured. */
const SECRETS = /(access|refresh|restart)-\d/

/**
 * A provider whose refresh tokens are valid once, as Microsoft can be configured. One access and
 * one refresh token are valid.
 */
async function startProvider() {
  let issued = 0
  const valid = { access: '', refresh: 'refresh-0' }
  const used: string[] = []
  const refused: string[] = []
  let failure: number | undefined
  const answer = async (request: IncomingMessage): Promise<[status: number, body: object]> => {
    if (request.url === '/introspect') {
      const isValid = request.headers.authorization === `Bearer ${valid.access}`
      return isValid ? [200, { active: true, username: USER }] : [401, { active: false }]
    }
    if (failure !== undefined) return [failure, {}]
    const token = new URLSearchParams(await text(request)).get('refresh_token') ?? ''
    used.push(token)
    // Leaves time for another request with the same token.
    await setImmediate()
    if (token !== valid.refresh) refused.push(token)
    if (token !== valid.refresh) return [400, { error: 'invalid_grant' }]
    issued++
    Object.assign(valid, { access: `access-${issued}`, refresh: `refresh-${issued}` })
    return [200, { access_token: valid.access, refresh_token: valid.refresh, expires_in: 3600 }]
  }
  const { url, close } = await serveHttp(async (request, response) => {
    const [status, body] = await answer(request)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  after(close)
  return {
    url,
    /** The refresh tokens that were used, in order, and those of them that were no longer valid. */
    used,
    refused,
    issued: () => issued,
    accessToken: () => valid.access,
    refreshToken: () => valid.refresh,
    /** Makes this the only valid refresh token, as after a new authorization. */
    authorize(token: string) {
      Object.assign(valid, { access: '', refresh: token })
      used.length = 0
      refused.length = 0
    },
    /** Makes the token endpoint answer with this status; undefined restores it. */
    fail(status: number | undefined) {
      failure = status
    },
    /** Invalidates the access token before it expires. */
    revoke() {
      valid.access = ''
    },
  }
}

const mailServer = await startMailServer()
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

  test('is read and answered with a new token when the old one is refused early, also after a restart', async (t) => {
    const lmtpPort = mailServer.dovecot.lmtpPort
    const smtp = await startSmtpServer({ lmtpPort, accessToken: provider.accessToken })
    t.after(() => smtp.close())
    const { imap } = optionsWith('refresh-0')
    const options = { imap, smtp: { ...imap, port: smtp.port } }
    const first = await mailServer.daemon(options)
    await send('with the first token')
    await first.message()

    provider.revoke()
    await dovecot.kill()
    await dovecot.start()
    await send('with the second token')
    await first.message(1)
    // SMTP has the same login, and must use the refresh token that IMAP received.
    await first.transport.send(replyTo(await first.message(), 'with the second token as well'))
    assert.equal((await mailServer.mailbox('anna@example.net')).length, 1)
    await first.stop()

    const { store } = first
    const second = await mailServer.daemon(options, { store })
    await send('after the restart')
    await second.message(2)
    assert.deepEqual(provider.refused, [])
    const logs = JSON.stringify([first.logs, second.logs, second.transport.health()])
    assert.doesNotMatch(`${logs}${await everythingIn(store)}`, SECRETS)
    // Otherwise it would renew tokens during the next test.
    await second.stop()
  })

  test('is answered with a new token if SMTP refused the cached one', async (t) => {
    const revoked = provider.issued() + 1
    const accessToken = () => (provider.issued() > revoked ? provider.accessToken() : 'another')
    const smtp = await startSmtpServer({ accessToken })
    t.after(() => smtp.close())
    const { imap } = optionsWith(provider.refreshToken())
    const daemon = await mailServer.daemon({ smtp: { ...imap, port: smtp.port } }, { gateway: 'smtp-only' })
    await mailServer.deliver(mail({}))
    const reply = replyTo(await daemon.message(), 'Hi')
    await daemon.transport.send(reply)
    assert.equal(smtp.taken.length, 1)
    assert.equal(daemon.transport.health().ok, true)
    await daemon.stop()
  })

  test('turns health red, with advice, when the refresh token is refused', async () => {
    const daemon = await mailServer.daemon(optionsWith('refresh-0'), { start: 'later', gateway: 'revoked' })
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

  test('are shared by daemons that use it at the same time, so that none invalidates the refresh token of another', async () => {
    provider.authorize('shared-0')
    const store = createMemoryStore()
    await Promise.all([1, 2, 3].map(() => sourceOn(store, 'shared-0')()))
    assert.deepEqual(provider.refused, [])
  })

  test('come from a newly configured refresh token, also if the stored one is no longer valid', async () => {
    const store = createMemoryStore()
    for (const configured of ['old-0', 'new-0']) {
      provider.authorize(configured)
      await sourceOn(store, configured)()
      assert.deepEqual(provider.used, [configured])
    }
    const stored = provider.refreshToken()
    provider.authorize('new-0')
    await sourceOn(store, 'new-0')()
    assert.deepEqual(provider.used, [stored, 'new-0'])
    await sourceOn(store, 'new-0')()
    assert.deepEqual(provider.refused, [stored])
  })

  test('come from the configured refresh token if the stored one cannot be read', async () => {
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

  test('are available after a failure of the provider, whose error does not ask for a new authorization', async () => {
    provider.authorize('failure-0')
    const tokens = sourceOn(createMemoryStore(), 'failure-0')
    for (const status of [503, 429]) {
      provider.fail(status)
      await assert.rejects(tokens(), (error: Error) => !error.message.includes('authorize'))
    }
    provider.fail(undefined)
    assert.equal(await tokens(), provider.accessToken())
  })

  test('are returned only after the new refresh token is stored, and none is lost', async () => {
    provider.authorize('unsaved-0')
    const { kv, leases } = createMemoryStore()
    let isDown = true
    const failing: KeyValues = {
      ...kv,
      set: async (...entry) =>
        isDown
          ? Promise.reject(new TriviumError('store_unavailable', { store: 'memory', reason: 'x' }))
          : kv.set(...entry),
    }
    const tokens = sourceOn({ kv: failing, leases }, 'unsaved-0')
    await assert.rejects(tokens(), { code: 'store_unavailable' })
    isDown = false
    provider.refused.length = 0
    assert.equal(await tokens(), provider.accessToken())
    assert.equal(await sourceOn({ kv, leases }, 'unsaved-0')(), provider.accessToken())
    assert.deepEqual(provider.refused, [])
  })
})

/** All keys, values and messages of a store as a text. */
async function everythingIn({ kv, messages }: MemoryStore): Promise<string> {
  const keys = await allKeys(kv, '')
  const values = await Promise.all(keys.map((key) => kv.get(key)))
  return JSON.stringify([keys, values, messages])
}
