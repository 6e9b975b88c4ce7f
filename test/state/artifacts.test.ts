import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { createArtifactSweep } from '../../src/state/artifacts/artifact-sweep.ts'
import { type ArtifactStore, createArtifacts } from '../../src/state/artifacts/artifacts.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { quiet, temporaryDir, toEvent } from './kit.ts'

function make(t: TestContext): { dir: string; artifacts: ArtifactStore } {
  const dir = temporaryDir(t)
  return { dir, artifacts: createArtifacts(dir) }
}

function age(path: string): void {
  const old = Date.now() / 1000 - 30 * 86_400
  utimesSync(path, old, old)
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

  test('a sweep removes what is old and named nowhere, and leftovers of dead writers', async (t) => {
    const { dir, artifacts } = make(t)
    const store = await createEmbeddedStore({ dir: temporaryDir(t), log: quiet, toEvent })
    t.after(() => store.close())
    const workbenchDir = join(dir, 'workbench')
    const save = async (text: string, isOld = true) => {
      const saved = await artifacts.save('a', 'text/plain', Readable.from([text]), 100)
      if (isOld) age(join(dir, saved.path))
      return saved.sha256
    }
    const named: Record<string, (sha256: string) => unknown> = {
      'a value on the store': (sha256) => store.kv.set('value:x', { path: `artifacts/${sha256}` }),
      'a document': (sha256) => writeFileSync(join(dir, 'state.json'), `{"text":"see ${sha256}"}`),
      'the result of a call': (sha256) =>
        writeFileSync(join(dir, 'pending_calls.jsonl'), `{"x":"${sha256}"}`),
      'a session': (sha256) => {
        mkdirSync(join(dir, 'sessions', 'deep'), { recursive: true })
        writeFileSync(join(dir, 'sessions', 'deep', 's.json'), `["${sha256}"]`)
      },
      'the workbench': (sha256) => {
        mkdirSync(workbenchDir)
        writeFileSync(join(workbenchDir, 'task_board.json'), `["${sha256}"]`)
      },
    }
    const kept = new Map<string, string>()
    for (const [where, name] of Object.entries(named)) {
      const sha256 = await save(where)
      await name(sha256)
      kept.set(where, sha256)
    }
    kept.set('young', await save('young', false))
    const again = await save('saved again')
    await save('saved again', false)
    kept.set('saved again', again)
    const lost = await save('lost')
    const leftover = join(dir, 'artifacts', 'incoming', 'body.1-1.tmp')
    writeFileSync(leftover, 'half')
    age(leftover)

    await createArtifactSweep({ artifacts, store, dataDir: dir, workbenchDir, log: quiet, now: Date.now })()
    assert.throws(() => artifacts.open(lost), { code: 'artifact_not_found' })
    assert.deepEqual(readdirSync(join(dir, 'artifacts', 'incoming')), [])
    for (const [what, sha256] of kept) assert.ok(await buffer(artifacts.open(sha256)), what)
  })
})
