import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'

const NEEDS_SECRET = `
gateways:
  hub: { transport: webhook, enabled: true, path: /hub, verify: { scheme: github, secret: "\${HUB_SECRET}" } }
routes: [{ name: all, skill: echo }]
`

describe('commands on the store without a daemon', { timeout: 300_000 }, () => {
  test('need no variables that routes.yaml names for gateways', async () => {
    const site = openSite({ routes: 'routes: [{ name: all, skill: echo }]' })
    assert.equal((await site.run(['message', 'cli', 'hello'])).out, 'You said: hello\n')
    site.write('routes.yaml', NEEDS_SECRET)
    assert.match((await site.run(['route', 'check'])).out, /HUB_SECRET is not set/)
    const copy = join(site.dir, 'copy.tar.gz')
    const changing = [`backup ${copy}`, 'compact', `restore ${copy} --force`]
    const reading = [
      'message list',
      'dead-letter list',
      'conversation list --gateway cli',
      'schedule list',
      'history',
    ]
    for (const line of [...changing, ...reading, 'status', 'config show', 'gateway show --help']) {
      const { code, err } = await site.run(line.split(' '))
      assert.equal(code, 0, `${line}: ${err}`)
    }
    assert.match((await site.run(['message', 'list'])).out, /hello/)
  })

  test('refuse to send anything while a variable is not set', async () => {
    const site = openSite({ routes: NEEDS_SECRET })
    for (const line of ['message cli hello', 'message cli hello --explain', 'doctor']) {
      const { code, out, err } = await site.run(line.split(' '))
      assert.notEqual(code, 0, line)
      assert.match(out + err, /HUB_SECRET is not set/, line)
    }
  })

  test('refuse to guess the store if its variable is not set', async () => {
    const site = openSite({ routes: `daemon: { redis-url: "\${SOME_REDIS}" }\n${NEEDS_SECRET}` })
    for (const line of ['backup copy.tar.gz', 'compact', 'store grow 4']) {
      const { code, err } = await site.run(line.split(' '))
      assert.deepEqual(
        [code, /SOME_REDIS is not set/.test(err), /HUB_SECRET/.test(err)],
        [2, true, false],
        err,
      )
    }
  })
})
