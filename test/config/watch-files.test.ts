import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { appendFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { watchFiles } from '../../src/config/watch-files.ts'
import { until } from '../fixtures/until.ts'
import { givenFile } from './given.ts'

test('a watched file is seen when it is saved, made, replaced, linked elsewhere, or removed and back', async (t) => {
  const cwd = await givenFile(t, 'old')
  const [file, env] = [join(cwd, 'routes.yaml'), join(cwd, '.env')]
  let told = 0
  t.after(watchFiles([file, env], () => told++, 0))
  const seen = async (what: string, ...steps: (() => Promise<void>)[]) => {
    const before = told
    for (const step of steps) await step()
    await until(() => told > before, what)
  }
  // The first look is the one that later ones are compared with.
  await until(async () => {
    await writeFile(file, 'new')
    return told > 0
  }, 'a saved file')
  await seen('a file that is made', () => writeFile(env, 'A=1'))
  await writeFile(join(cwd, '.swp'), 'three')
  await seen('what an editor does', () => rename(join(cwd, '.swp'), file))
  await seen('a file that is gone', () => rm(file))
  await seen('a file that is back', () => writeFile(file, 'back'))
  for (const name of ['..one', '..two']) await writeFile(join(cwd, name), name)
  await symlink('..one', join(cwd, '..data'))
  await seen(
    'a link',
    () => unlink(file),
    () => symlink('..data', file),
  )
  await symlink('..two', join(cwd, '..tmp'))
  await seen('a ConfigMap of Kubernetes', () => rename(join(cwd, '..tmp'), join(cwd, '..data')))
})

test('a file that is saved slowly is not read before it is whole', async (t) => {
  const cwd = await givenFile(t, 'old')
  const file = join(cwd, 'routes.yaml')
  const read: string[] = []
  t.after(watchFiles([file], () => read.push(readFileSync(file, 'utf8')), 1_500))
  const parts = setInterval(() => appendFile(file, 'x'), 20)
  await until(() => readFileSync(file, 'utf8').length > 40, 'most of the file')
  clearInterval(parts)
  await until(() => read.length > 0, 'the file')
  assert.deepEqual(read, [readFileSync(file, 'utf8')])
})
