import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { checkRedis } from '../../../src/stores/redis/check.ts'
import { checkStateKeys } from '../../../src/stores/redis/check-keys.ts'
import { parseUrl } from '../../../src/stores/redis/redis-url.ts'
import { silent } from '../../contract/store/kit.ts'
import { temporaryDir } from '../../fixtures/folder.ts'
import { freePorts } from '../../fixtures/redis-server.ts'
import { openStore, redisOf } from './kit.ts'

describe('REDIS_URL', () => {
  const b = { host: 'b', port: 26379 }
  const cases: Record<string, ReturnType<typeof parseUrl>> = {
    'redis://me:p%40ss@db.example.com/2': {
      address: 'redis://db.example.com/2',
      options: { username: 'me', password: 'p@ss', db: 2, host: 'db.example.com', port: 6379 },
      nodes: undefined,
    },
    'rediss://db.example.com:7000': {
      address: 'rediss://db.example.com:7000',
      options: { tls: { servername: 'db.example.com' }, host: 'db.example.com', port: 7000 },
      nodes: undefined,
    },
    'redis://:secret@a:7000, redis://b:26379': {
      address: 'redis://a:7000,redis://b:26379',
      options: { password: 'secret' },
      nodes: [{ host: 'a', port: 7000 }, b],
    },
    'redis-sentinel://:secret@a:26380,b/primary/1': {
      address: 'redis-sentinel://a:26380,redis-sentinel://b/primary/1',
      options: {
        password: 'secret',
        db: 1,
        name: 'primary',
        sentinels: [{ host: 'a', port: 26380 }, b],
        failoverDetector: true,
      },
      nodes: undefined,
    },
    'rediss-sentinel://:p@b/primary?sentinel-username=u&sentinel-password=s%26': {
      address: 'rediss-sentinel://b/primary',
      options: {
        password: 'p',
        tls: {},
        sentinelTLS: {},
        enableTLSForSentinelMode: true,
        sentinelUsername: 'u',
        sentinelPassword: 's&',
        name: 'primary',
        sentinels: [b],
        failoverDetector: true,
      },
      nodes: undefined,
    },
    'redis://[::1]': {
      address: 'redis://[::1]',
      options: { host: '::1', port: 6379 },
      nodes: undefined,
    },
  }
  for (const [url, parsed] of Object.entries(cases)) test(url, () => assert.deepEqual(parseUrl(url), parsed))

  test('an error about an invalid URL names the invalid part, and never the password', () => {
    const reasons: Record<string, RegExp> = {
      '': /redis:\/\//,
      'http://u:secret@a': /http:…@a/,
      'redis-sentinel://:secret@a': /…@a/,
      'u:secret@a:b:c,': /…@a:b:c/,
      'redis://a?pass=secret': /parameter "pass".*sentinel-password/,
      'rediss://:secret@a?ca=/none.pem': /ca: .*none\.pem/,
      'redis://:50%secret@a': /password.*%25/,
      'redis://50%secret:x@a': /user name.*%25/,
      'redis://:secret@a/prod': /database.*"prod"/,
      'redis://:secret@a/1/2': /database.*"1\/2"/,
      'redis://:secret@a/1.5': /database.*"1\.5"/,
      'redis-sentinel://:secret@a/primary/prod': /database.*"prod"/,
      'redis://:secret@a,redis://b/3': /Cluster.*"\/3"/,
      'redis://me:1/secret@a': /…@a/,
      'redis://me:1?secret@a': /…@a/,
    }
    for (const [url, reason] of Object.entries(reasons)) {
      assert.throws(() => parseUrl(url, 'state.redis'), { code: 'config_invalid', message: reason }, url)
      assert.throws(() => parseUrl(url, 'state.redis'), { message: /^(?!.*secret).*state\.redis/s }, url)
    }
  })
})

describe('a Redis behind TLS', () => {
  test('is reached by IP address, with a private CA and a client certificate', async (t) => {
    const folder = temporaryDir(t)
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    const openssl =
      'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 2 -nodes -subj /CN=redis -addext subjectAltName=IP:127.0.0.1'
    execFileSync('openssl', [...openssl.split(' '), '-keyout', key, '-out', cert], { stdio: 'pipe' })
    const [tlsPort = ''] = (await freePorts(1)).map(String)
    const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert]
    await redisOf(t, ['--tls-port', tlsPort, ...files])
    const url = `rediss://127.0.0.1:${tlsPort}`
    await assert.rejects(openStore(url, { connectTimeout: 1_000 }), {
      code: 'store_unavailable',
      message: /self.signed/,
    })
    const store = await openStore(`${url}?ca=${cert}&cert=${cert}&key=${key}`)
    t.after(() => store.close())
    await store.ping()
    assert.equal(store.address, url)
  })
})

describe('the checks of a Redis', () => {
  test('fail for a server that evicts or does not persist; the start logs warnings', async (t) => {
    const { server, open } = await redisOf(t, ['--maxmemory-policy', 'allkeys-lru', '--appendonly', 'no'])
    const failed = (await checkRedis({ url: server.url, log: silent })).filter(({ ok }) => !ok)
    assert.deepEqual(
      failed.map(({ name }) => name),
      ['Redis: eviction', 'Redis: persistence'],
    )
    const warnings: string[] = []
    await open({
      log: { ...silent, warn: (_fields: object, message: string) => void warnings.push(message) },
    })
    assert.equal(warnings.length, 2)
    assert.match(warnings.join(), /noeviction[\s\S]*appendonly yes/)
  })

  test('name a key that another program wrote, but not one of another prefix', async (t) => {
    const { server, open, client } = await redisOf(t)
    const store = await open()
    await store.kv.set('a', 1)
    const check = () => checkStateKeys({ url: server.url, log: silent, prefix: 'trivium' })
    assert.deepEqual(
      (await check()).map(({ ok }) => ok),
      [true],
    )
    await client().set('{trivium:kv}:value:b', 'of another program')
    await client().set('{other:kv}:value:b', 'of another program')
    await assert.rejects(store.kv.get('b'), { code: 'store_unreadable' })
    const [found] = await check()
    assert.equal(found?.ok, false)
    assert.match(found?.detail ?? '', /: \{trivium:kv\}:value:b \(string, not hash\)\. /)
  })
})
