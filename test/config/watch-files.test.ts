import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { appendFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { watchFiles } from '../../src/config/watch-files.ts'
import { until } from '../fixtures/until.ts'
import { writeConfig } from './given.ts'

test('notices that a file is saved, created, replaced, removed, or linked to another file', async (t) => {
  const cwd = await writeConfig(t, 'old')
  const [file, env] = [join(cwd, 'routes.yaml'), join(cwd, '.env')]
  let changes = 0
  t.after(watchFiles([file, env], () => changes++, 0))
  const notices = async (what: string, ...steps: (() => Promise<void>)[]) => {
    const before = changes
    for (const step of steps) await step()
    await until(() => changes > before, what)
  }
  // A change before the first check is not noticed.
  await until(async () => {
    await writeFile(file, 'new')
    return changes > 0
  }, 'a saved file')
  await notices('a created file', () => writeFile(env, 'A=1'))
  await writeFile(join(cwd, '.swp'), 'three')
  await notices('a file that an editor replaces', () => rename(join(cwd, '.swp'), file))
  await notices('a removed file', () => rm(file))
  await notices('a file that is created again', () => writeFile(file, 'again'))
  for (const name of ['..one', '..two']) await writeFile(join(cwd, name), name)
  await symlink('..one', join(cwd, '..data'))
  await notices(
    'a link',
    () => unlink(file),
    () => symlink('..data', file),
  )
  await symlink('..two', join(cwd, '..tmp'))
  await notices('a ConfigMap of Kubernetes', () => rename(join(cwd, '..tmp'), join(cwd, '..data')))
})

test('a slowly written file is read when it is complete', async (t) => {
  const cwd = await writeConfig(t, 'old')
  const file = join(cwd, 'routes.yaml')
  const read: string[] = []
  t.after(watchFiles([file], () => read.push(readFileSync(file, 'utf8')), 1_500))
  const parts = setInterval(() => appendFile(file, 'x'), 20)
  await until(() => readFileSync(file, 'utf8').length > 40, 'most of the file')
  clearInterval(parts)
  await until(() => read.length > 0, 'the file')
  assert.deepEqual(read, [readFileSync(file, 'utf8')])
})
