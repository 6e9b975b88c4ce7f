import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { type ArtifactStore, createArtifacts } from '../../src/state/artifacts/artifacts.ts'
import { temporaryDir } from './kit.ts'

function make(t: TestContext): { dir: string; artifacts: ArtifactStore } {
  const dir = temporaryDir(t)
  return { dir, artifacts: createArtifacts(dir) }
}

describe('Separate large artifacts from state', () => {
  test('a saved artifact is a file named by its hash and only its path travels', async (t) => {
    const { dir, artifacts } = make(t)
    const bytes = randomBytes(300_000)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const saved = await artifacts.save('big.csv', 'text/csv', Readable.from([bytes]), 1_000_000)
    assert.deepEqual(saved, {
      ...{ name: 'big.csv', type: 'text/csv', size: 300_000, sha256 },
      path: `artifacts/${sha256.slice(0, 2)}/${sha256}`,
    })
    assert.deepEqual(readFileSync(join(dir, saved.path)), bytes)
    assert.deepEqual(await buffer(artifacts.open(sha256)), bytes)
  })

  test('a body that is too large or breaks off leaves nothing behind', async (t) => {
    const { dir, artifacts } = make(t)
    const save = (body: Readable) => artifacts.save('a', 'text/plain', body, 9)
    await assert.rejects(save(Readable.from(['12345', '67890'])), { code: 'body_too_large' })
    const breaking = async function* () {
      yield 'half'
      throw new Error('the sender went away')
    }
    await assert.rejects(save(Readable.from(breaking())), /went away/)
    assert.deepEqual(readdirSync(join(dir, 'artifacts', 'incoming')), [])
  })

  test('a name that is no hash reaches no file', (t) => {
    const { artifacts } = make(t)
    for (const name of ['../../etc/passwd', '0'.repeat(64)])
      assert.throws(() => artifacts.open(name), { code: 'artifact_not_found' })
  })
})
