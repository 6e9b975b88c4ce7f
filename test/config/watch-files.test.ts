import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { watchFiles } from '../../src/config/watch-files.ts'
import { until } from '../fixtures/until.ts'
import { givenFile } from './given.ts'

type Act = (cwd: string, changes: (count: number) => Promise<void>) => Promise<void>

const SEEN: Record<string, Act> = {
  'a saved file': (cwd) => writeFile(join(cwd, 'routes.yaml'), 'new'),
  'a file beside it': (cwd) => writeFile(join(cwd, '.env'), 'A=1'),
  'a file that an editor replaces, again and again': async (cwd, changes) => {
    for (const [at, text] of ['one', 'two', 'three'].entries()) {
      await changes(at)
      await writeFile(join(cwd, '.routes.yaml.swp'), text)
      await rename(join(cwd, '.routes.yaml.swp'), join(cwd, 'routes.yaml'))
      await changes(at + 1)
    }
  },
  'a file that goes, and comes back': async (cwd, changes) => {
    await rm(join(cwd, 'routes.yaml'))
    await changes(1)
    await writeFile(join(cwd, 'routes.yaml'), 'back')
    await changes(2)
  },
}

describe('watching files', () => {
  for (const [what, act] of Object.entries(SEEN)) {
    test(`sees ${what}`, async (t) => {
      const { cwd, changes } = await watching(t)
      await act(cwd, changes)
      await changes(1)
    })
  }

  test('sees a link that is swapped, as Kubernetes does with a ConfigMap', async (t) => {
    const { cwd, changes } = await watching(t, async (folder) => {
      await writeFile(join(folder, '..one'), 'one')
      await writeFile(join(folder, '..two'), 'two')
      await symlink('..one', join(folder, '..data'))
      await unlink(join(folder, 'routes.yaml'))
      await symlink('..data', join(folder, 'routes.yaml'))
    })
    await symlink('..two', join(cwd, '..tmp'))
    await rename(join(cwd, '..tmp'), join(cwd, '..data'))
    await changes(1)
  })

  test('takes saves in quick succession for one, and other files for none', async (t) => {
    const { cwd, changes, count } = await watching(t)
    // In one turn: on a busy machine there may be a second between two turns, and saves so far apart are two changes.
    for (const text of ['one', 'two']) writeFileSync(join(cwd, 'routes.yaml'), text)
    writeFileSync(join(cwd, 'other.yaml'), 'three')
    await changes(1)
    await writeFile(join(cwd, '.env'), 'A=1')
    await changes(2)
    assert.equal(count(), 2)
  })

  test('ends', async (t) => {
    const { cwd, close, count } = await watching(t)
    await close()
    await writeFile(join(cwd, 'routes.yaml'), 'new')
    assert.equal(count(), 0)
  })
})

/** A watched folder; `changes` waits until so many were told. */
async function watching(t: TestContext, prepare: (cwd: string) => Promise<void> = async () => {}) {
  const cwd = await givenFile(t, 'old')
  await prepare(cwd)
  let told = 0
  const files = [join(cwd, 'routes.yaml'), join(cwd, '.env')]
  const close = await watchFiles(files, () => told++, assert.ifError, 20)
  t.after(close)
  const changes = async (count: number) => void (await until(() => told >= count, `${count} changes`))
  return { cwd, close, changes, count: () => told }
}
