// Everything else runs on the pinned Node. This runs the daemon and tests of each layer on the
// oldest supported Node.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { otherNode } from '../../ops/other-node.ts'
import { bundledCommand } from '../../ops/tests/bundled-command.ts'
import { createSite } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

/**
 * Tests of each layer that use what differs between versions of Node: SQLite, threads, zlib, type
 * stripping.
 */
const FILES = [
  'test/contract/embedded-store.test.ts',
  'test/core/identity.test.ts',
  'test/core/message.test.ts',
  'test/http/public-http.test.ts',
  'test/transports/websocket/protocol.test.ts',
]

describe('on Node 24', { timeout: 600_000 }, () => {
  let node: string
  before(() => {
    node = otherNode()
  })

  for (const store of ['embedded', 'redis'] as const) {
    test(`a daemon on the ${store} store starts, answers, and ends`, async (t) => {
      const redis = store === 'redis' ? await startRedisServer() : undefined
      const site = createSite({ routes: 'routes: [{ name: rest, skill: echo }]' })
      t.after(async () => {
        await site.remove()
        await redis?.stop()
      })
      const env = {
        PATH: process.env.PATH,
        HOME: site.dir,
        TRIVIUM_LISTEN: '127.0.0.1:0',
        TRIVIUM_CONTROL_LISTEN: '127.0.0.1:0',
        ...(redis ? { REDIS_URL: redis.url } : {}),
      }
      const bin = await bundledCommand()
      const daemon = spawn(node, [bin, 'start'], {
        cwd: site.dir,
        env,
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      t.after(() => daemon.kill('SIGKILL'))
      const isReady = () => existsSync(join(site.dir, '.trivium', 'daemon.json'))
      await until(() => isReady() || daemon.exitCode !== null, 'a daemon that is ready')
      const args = [bin, 'message', 'cli', 'hello']
      const { stdout, stderr } = spawnSync(node, args, { cwd: site.dir, env, encoding: 'utf8' })
      assert.equal(stdout, 'You said: hello\n', stderr)
      daemon.kill()
      const [code] = await once(daemon, 'exit')
      assert.equal(code, 0)
    })
  }

  test('tests of each layer pass', () => {
    for (const file of FILES) assert.ok(existsSync(file), file)
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const args = ['--test', '--test-force-exit', '--test-isolation=none', ...FILES]
    const { status, stdout, stderr } = spawnSync(node, args, {
      env,
      encoding: 'utf8',
      maxBuffer: 100_000_000,
    })
    assert.equal(status, 0, `${stdout}${stderr}`)
    assert.match(stdout, /tests [1-9]/)
  })
})
