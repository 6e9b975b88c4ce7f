import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { type ArtifactStore, createArtifacts } from '../../src/state/artifacts.ts'
import { temporaryDir } from './temporary.ts'

const HOUR = 3_600_000
const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

function make(t: TestContext): { dir: string; artifacts: ArtifactStore } {
  const dir = temporaryDir(t)
  const artifacts = createArtifacts(dir, { gateway: 'demo' })
  t.after(() => artifacts.close())
  return { dir, artifacts }
}

function age(dir: string, path: string): void {
  const old = Date.now() / 1000 - 7200
  utimesSync(join(dir, path), old, old)
}

describe('Separate large artifacts from state', () => {
  test('a saved artifact is a file named by its hash and only its path travels', async (t) => {
    const { dir, artifacts } = make(t)
    const bytes = randomBytes(300_000)
    const saved = await artifacts.save('big.csv', 'text/csv', Readable.from([bytes]), 1_000_000)
    assert.equal(saved.sha256, sha(bytes))
    assert.equal(saved.size, 300_000)
    assert.equal(saved.path, `artifacts/${saved.sha256.slice(0, 2)}/${saved.sha256}`)
    assert.deepEqual(readFileSync(join(dir, saved.path)), bytes)
    assert.deepEqual(await buffer(artifacts.open(saved.sha256)), bytes)
  })

  test('a body over the limit is refused and leaves nothing behind', async (t) => {
    const { dir, artifacts } = make(t)
    await assert.rejects(artifacts.save('a', 'text/plain', Readable.from(['12345', '67890']), 9), {
      code: 'body_too_large',
    })
    assert.deepEqual(readdirSync(join(dir, 'artifacts', 'incoming')), [])
  })

  test('a body that breaks off leaves nothing behind', async (t) => {
    const { dir, artifacts } = make(t)
    const body = Readable.from(
      (async function* () {
        yield 'half'
        throw new Error('the sender went away')
      })(),
    )
    await assert.rejects(artifacts.save('a', 'text/plain', body, 100), /went away/)
    assert.deepEqual(readdirSync(join(dir, 'artifacts', 'incoming')), [])
  })

  test('a name that is no hash reaches no file', (t) => {
    const { artifacts } = make(t)
    assert.throws(() => artifacts.open('../../etc/passwd'), { code: 'artifact_not_found' })
    assert.throws(() => artifacts.open('0'.repeat(64)), { code: 'artifact_not_found' })
  })

  test('a sweep removes what nothing names and keeps what is held, named or fresh', async (t) => {
    const { dir, artifacts } = make(t)
    const save = (text: string) => artifacts.save('a', 'text/plain', Readable.from([text]), 100)
    const [held, named, fresh, lost] = [
      await save('held'),
      await save('named'),
      await save('fresh'),
      await save('lost'),
    ]
    artifacts.hold(held.sha256, 'document:state')
    for (const old of [held, named, lost]) age(dir, old.path)
    const swept = await artifacts.sweep({ grace: HOUR, named: (sha256) => sha256 === named.sha256 })
    assert.deepEqual(swept, { removed: 1, kept: 3, bytes: 4 })
    assert.equal(artifacts.has(lost.sha256), false)
    for (const kept of [held, named, fresh]) assert.ok(existsSync(join(dir, kept.path)))
  })

  test('an artifact with two owners stays until the second lets go', async (t) => {
    const { dir, artifacts } = make(t)
    const saved = await artifacts.save('a', 'text/plain', Readable.from(['x']), 10)
    artifacts.hold(saved.sha256, 'message:1')
    artifacts.hold(saved.sha256, 'message:1')
    artifacts.hold(saved.sha256, 'message:2')
    age(dir, saved.path)
    assert.deepEqual(artifacts.owners(saved.sha256), ['message:1', 'message:2'])
    assert.equal(artifacts.drop('message:1'), 1)
    await artifacts.sweep({ grace: HOUR })
    assert.ok(artifacts.has(saved.sha256))
    artifacts.drop('message:2')
    await artifacts.sweep({ grace: HOUR })
    assert.equal(artifacts.has(saved.sha256), false)
  })

  test('what is saved again while a sweep looks at it survives', async (t) => {
    const { dir, artifacts } = make(t)
    const save = () => artifacts.save('a', 'text/plain', Readable.from(['same bytes']), 100)
    const saved = await save()
    age(dir, saved.path)
    await artifacts.sweep({
      grace: HOUR,
      async named() {
        await save()
        return false
      },
    })
    assert.ok(artifacts.has(saved.sha256))
  })

  test('what is held while a sweep looks at it survives', async (t) => {
    const { dir, artifacts } = make(t)
    const saved = await artifacts.save('a', 'text/plain', Readable.from(['y']), 100)
    age(dir, saved.path)
    const named = () => {
      artifacts.hold(saved.sha256, 'document:state')
      return false
    }
    await artifacts.sweep({ grace: HOUR, named })
    assert.ok(artifacts.has(saved.sha256))
  })

  test('holding what is not there is an error', (t) => {
    const { artifacts } = make(t)
    assert.throws(() => artifacts.hold('0'.repeat(64), 'document:state'), { code: 'artifact_not_found' })
  })
})
