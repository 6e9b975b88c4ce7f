import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { type Dovecot, startDovecot } from '../../fixtures/dovecot.ts'
import { deliver, startSmtpServer } from '../../fixtures/smtp-server.ts'
import { until } from '../../fixtures/until.ts'
import { mail, replyTo, startWorld, type World } from './harness.ts'

const USER = 'support@example.com'

/** A provider that ends a refresh token with its use, as Microsoft's can be told to. Only one of each is good. */
async function startProvider() {
  let issued = 0
  const good = { access: '', refresh: 'refresh-0' }
  const asked: string[] = []
  const answer = async (request: IncomingMessage): Promise<[status: number, body: object]> => {
    if (request.url === '/introspect') {
      const token = /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
      asked.push(token)
      return token === good.access ? [200, { active: true, username: USER }] : [401, { active: false }]
    }
    if (new URLSearchParams(await text(request)).get('refresh_token') !== good.refresh) return [400, {}]
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
    /** The tokens that the mail server asked about, in order. */
    asked,
    issued: () => issued,
    accessToken: () => good.access,
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

  const options = () => ({
    imap: {
      host: '127.0.0.1',
      port: dovecot.imapPort,
      tls: 'none',
      user: USER,
      oauth2: {
        'client-id': 'trivium',
        'refresh-token': 'refresh-0',
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
    assert.doesNotMatch(JSON.stringify(daemon.logs), /access-\d|refresh-\d/)
    await daemon.stop()
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
    assert.doesNotMatch(JSON.stringify(daemon.logs), /access-\d|refresh-\d/)
    await daemon.stop()
  })
})
