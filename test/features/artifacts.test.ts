import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { Redis } from 'ioredis'
import { DAY, MINUTE } from '../../src/core/units.ts'
import { type ArtifactStore, createArtifacts } from '../../src/features/artifacts/artifacts.ts'
import { createRedisStore } from '../../src/stores/redis/index.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { silent, temporaryDir, toEvent } from './kit.ts'

function make(t: TestContext): { dir: string; artifacts: ArtifactStore } {
  const dir = temporaryDir(t)
  return { dir, artifacts: createArtifacts(dir) }
}

/**
 * The artifacts of a daemon on a shared Redis. `openElsewhere` reads one as a daemon with another
 * data directory.
 */
async function makeShared(t: TestContext) {
  const redis = await startRedisServer()
  t.after(redis.stop)
  const store = await createRedisStore({ url: redis.url, toEvent, log: silent })
  t.after(store.close)
  const shared = { blobs: store.blobs ?? assert.fail('it has none'), keepFor: () => MINUTE }
  const client = new Redis(redis.url)
  t.after(() => client.disconnect())
  const elsewhere = () => createArtifacts(temporaryDir(t), shared)
  return {
    here: createArtifacts(temporaryDir(t), shared),
    elsewhere,
    openElsewhere: async (sha256: string) => text(await elsewhere().open(sha256)),
    client,
    keyOf: (sha256: string, index: number) => `{trivium:blob:${sha256}:${index}}`,
  }
}

describe('an artifact', () => {
  test('is saved as a file that is named by its hash', async (t) => {
    const { dir, artifacts } = make(t)
    const bytes = randomBytes(300_000)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const saved = await artifacts.save('big.csv', 'text/csv', Readable.from([bytes]), 1_000_000)
    assert.deepEqual(saved, {
      name: 'big.csv',
      type: 'text/csv',
      size: 300_000,
      sha256,
      path: `artifacts/${sha256.slice(0, 2)}/${sha256}`,
    })
    assert.deepEqual(readFileSync(join(dir, saved.path)), bytes)
    assert.deepEqual(await buffer(await artifacts.open(sha256)), bytes)
  })

  test('leaves nothing behind if its body is too large or is cut off', async (t) => {
    const { dir, artifacts } = make(t)
    const save = (body: Readable) => artifacts.save('a', 'text/plain', body, 9)
    await assert.rejects(save(Readable.from(['12345', '67890'])), { code: 'artifact_too_large' })
    const breaking = async function* () {
      yield 'half'
      throw new Error('the sender went away')
    }
    await assert.rejects(save(Readable.from(breaking())), /went away/)
    assert.deepEqual(readdirSync(join(dir, 'artifacts', 'incoming')), [])
  })

  test('has a copy on a shared store, which is renewed from the file until the file is removed', async (t) => {
    const { here, openElsewhere: openThere, client, keyOf } = await makeShared(t)
    const { sha256 } = await here.save('a.txt', 'text/plain', Buffer.from('hello'), 9)
    const openElsewhere = () => openThere(sha256)
    assert.equal(await openElsewhere(), 'hello')
    const key = keyOf(sha256, 0)
    assert.ok((await client.pttl(key)) <= MINUTE)
    const [earlier, later] = [Date.now() - 9_000, Date.now() + 9_000]
    assert.equal((await here.sweep(earlier, new Set())).removed, 0, 'the file is newer')
    assert.ok((await client.pttl(key)) > DAY)
    await client.del(key)
    await assert.rejects(openElsewhere(), { code: 'artifact_not_found' })
    await here.sweep(later, new Set([sha256]))
    assert.equal(await openElsewhere(), 'hello')
    assert.deepEqual(await here.sweep(later, new Set()), { removed: 1, bytes: 5 })
  })

  test('is shared again if the store lost any part of it, and removed with all parts', async (t) => {
    const { here, openElsewhere, client, keyOf } = await makeShared(t)
    const content = 'a large file '.repeat(250_000)
    const { sha256 } = await here.save('a.txt', 'text/plain', Buffer.from(content), 9_000_000)
    await client.del(keyOf(sha256, 1))
    await assert.rejects(openElsewhere(sha256), { code: 'artifact_not_found' })
    await here.sweep(Date.now() - 9_000, new Set())
    assert.equal(await openElsewhere(sha256), content)
    await client.del(keyOf(sha256, 1))
    await here.remove(sha256)
    assert.deepEqual(await client.keys('*blob*'), [])
  })

  test('that is empty is on the shared store too', async (t) => {
    const { here, elsewhere, openElsewhere } = await makeShared(t)
    const { sha256 } = await here.save('a.txt', 'text/plain', Buffer.from(''), 9)
    assert.equal(await elsewhere().has(sha256), true)
    assert.equal(await openElsewhere(sha256), '')
    await here.remove(sha256)
    assert.equal(await elsewhere().has(sha256), false)
  })

  test('is not found by a name that is not a hash', async (t) => {
    const { artifacts } = make(t)
    for (const name of ['../../etc/passwd', '0'.repeat(64)])
      await assert.rejects(artifacts.open(name), { code: 'artifact_not_found' })
  })
})
