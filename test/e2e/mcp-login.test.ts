import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { bundledCommand } from '../../ops/tests/bundled-command.ts'
import { objectsIn, pathGet } from '../../src/core/json.ts'
import { openSite } from '../fixtures/daemon.ts'
import { startMcpHttpServer } from '../fixtures/mcp-http-server.ts'
import { until } from '../fixtures/until.ts'

const BIN = await bundledCommand()
const PASSWORD = 'a-bearer-of-the-test'
const MACHINE = 'client-id: robot, client-secret: a-secret-of-a-robot, grant: client_credentials'

describe('MCP servers over HTTP', { timeout: 300_000 }, () => {
  test('take a bearer token, or the login of a person, which is kept, renewed, and required again when it ends', async () => {
    const remote = await startMcpHttpServer(PASSWORD)
    after(() => remote.close())
    const site = openSite({
      routes: `
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
mcp:
  bearer: { url: '${remote.url}', headers: { authorization: Bearer ${PASSWORD} } }
  wrong: { url: '${remote.url}', headers: { authorization: Bearer no-such-password } }
  person: { url: '${remote.url}' }
  machine: { url: '${remote.url}', oauth: { ${MACHINE}, issuer: '${new URL(remote.url).origin}' } }
  fooled: { url: '${remote.url}', oauth: { ${MACHINE}, issuer: 'https://elsewhere.example' } }
`,
    })
    const daemon = await site.start()
    const stateOf = async (name: string) =>
      objectsIn(pathGet(await daemon.get('/v1/status'), 'result.mcp')).find((one) => one.name === name)
    assert.equal(await daemon.invoke('bearer.hello'), 'hello')
    assert.equal(await daemon.invoke('machine.hello'), 'hello')
    assert.equal((await stateOf('fooled'))?.ok, false)
    assert.equal(
      remote.machineLogins.length,
      1,
      'only `machine` sent its secret: the issuer of `fooled` is elsewhere',
    )
    assert.match(String((await stateOf('bearer'))?.detail), /over-http, 2026-07-28/)
    await assert.rejects(daemon.invoke('bearer.huge'), /mcp_unknown.*max-result/)
    await assert.rejects(daemon.invoke('bearer.cut'), /mcp_unknown.*cut off/)
    assert.equal(await daemon.invoke('bearer.hello'), 'hello')
    assert.match(String((await stateOf('wrong'))?.detail), /rejects the authorization/)
    await assert.rejects(daemon.invoke('person.hello'), /mcp_unavailable.*trivium mcp login person/)

    const login = spawn(process.execPath, [BIN, 'mcp', 'login', 'person'], {
      cwd: site.dir,
      env: { PATH: process.env.PATH, HOME: site.dir },
    })
    let output = ''
    for (const stream of [login.stdout, login.stderr]) stream.on('data', (chunk) => (output += chunk))
    const address = await until(() => /^http\S+$/m.exec(output)?.[0], 'the address to open')
    const callback = new URL(new URL(address).searchParams.get('redirect_uri') ?? '')
    callback.search = 'code=forged&state=guessed'
    assert.equal((await fetch(callback)).status, 400)
    assert.equal((await fetch(`${callback.origin}//`)).status, 400, 'a path that is no address')
    await fetch(address)
    const [code] = await once(login, 'exit')
    assert.equal(code, 0, output)
    assert.doesNotMatch(output, /mcp-sdk/, 'the library shows no text of its own')
    await until(
      async () => (await daemon.invoke('person.hello').catch(() => '')) === 'hello',
      'the login to be used',
    )
    assert.equal(statSync(join(site.dir, '.trivium/mcp/person.json')).mode & 0o777, 0o600)

    remote.revokeAccessTokens()
    assert.equal(await daemon.invoke('person.hello'), 'hello')
    assert.equal(remote.logins(), 1)
    remote.revokeAllTokens()
    await assert.rejects(
      daemon.invoke('person.hello'),
      /mcp_unavailable.*it requires a login.*trivium mcp login person/,
    )
    assert.equal((await stateOf('person'))?.state, 'login')
    assert.equal((await site.run(['mcp', 'login', 'nobody'])).code, 1)
    assert.doesNotMatch(daemon.output(), new RegExp(`${PASSWORD}|a-secret-of|at-[0-9a-f]|rt-[0-9a-f]`))
    await daemon.end()
  })
})
