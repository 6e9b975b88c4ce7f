import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { TriviumError } from '../../../src/core/errors.ts'
import { serverChecks } from '../../../src/stores/redis/check.ts'
import { parseUrl } from '../../../src/stores/redis/connect.ts'
import { checkRedis, createRedisStore } from '../../../src/stores/redis/index.ts'
import { quiet, toEvent } from '../../contract/store/kit.ts'
import { startRedisServer } from '../../fixtures/redis-server.ts'

describe('REDIS_URL', () => {
  test('a single server has a port, a database and credentials, and its address hides them', () => {
    const target = parseUrl('redis://me:p%40ss@db.example.com/2')
    assert.equal(target.kind, 'single')
    assert.equal(target.address, 'redis://db.example.com:6379/2')
    assert.deepEqual(target.options, {
      username: 'me',
      password: 'p@ss',
      db: 2,
      host: 'db.example.com',
      port: 6379,
    })
  })

  test('rediss:// checks the certificate against the host', () => {
    const { options } = parseUrl('rediss://db.example.com:7000')
    assert.deepEqual(options.tls, { servername: 'db.example.com' })
  })

  test('a comma list is a cluster', () => {
    const target = parseUrl('redis://:secret@a:7000, redis://b:7001')
    assert.ok(target.kind === 'cluster')
    assert.deepEqual(target.nodes, [
      { host: 'a', port: 7000 },
      { host: 'b', port: 7001 },
    ])
    assert.equal(target.options.password, 'secret')
    assert.equal(target.address, 'redis://a:7000,redis://b:7001')
  })

  test('redis-sentinel:// names sentinels and the master', () => {
    const target = parseUrl('redis-sentinel://:secret@a:26379,b/primary/1')
    assert.deepEqual(target.options, {
      sentinels: [
        { host: 'a', port: 26379 },
        { host: 'b', port: 26379 },
      ],
      name: 'primary',
      password: 'secret',
      db: 1,
    })
    assert.ok(!target.address.includes('secret'))
  })

  test('what is none is refused without showing the password', () => {
    for (const url of ['', 'http://u:secret@a', 'redis-sentinel://:secret@a', 'u:secret@a:b:c,']) {
      assert.throws(
        () => parseUrl(url),
        (error) =>
          error instanceof TriviumError &&
          error.code === 'config_invalid' &&
          !error.message.includes('secret'),
        url,
      )
    }
  })
})

describe('the checks of a Redis', () => {
  test('a server that evicts or does not persist fails them, at the start with a warning', async () => {
    const args = ['--maxmemory-policy', 'allkeys-lru', '--appendonly', 'no']
    const server = await startRedisServer({ args })
    try {
      const failed = (await checkRedis(server.url, quiet)).filter(({ ok }) => !ok)
      assert.deepEqual(
        failed.map(({ name }) => name),
        ['Redis: eviction', 'Redis: persistence'],
      )
      const warnings: string[] = []
      const log = { ...quiet, warn: (_fields: object, message: string) => void warnings.push(message) }
      const store = await createRedisStore({ url: server.url, toEvent, log })
      await store.close()
      assert.equal(warnings.length, 2)
      assert.match(warnings.join(), /noeviction[\s\S]*appendonly yes/)
    } finally {
      await server.stop()
    }
  })

  test('a server as it should be passes them all', async () => {
    const server = await startRedisServer()
    const checks = await checkRedis(server.url, quiet)
    await server.stop()
    assert.equal(checks.length, 4)
    assert.ok(checks.every(({ ok }) => ok))
  })

  test('a server that is not there is one failed check', async () => {
    const checks = await checkRedis('redis://127.0.0.1:1', quiet, 300)
    assert.deepEqual(
      checks.map(({ name, ok }) => [name, ok]),
      [['Redis: connection', false]],
    )
  })

  test('a version without the commands that the scripts need fails', () => {
    const info = new Map([['redis_version', '6.0.16']])
    assert.equal(serverChecks(info).find(({ name }) => name === 'Redis: version')?.ok, false)
  })
})
