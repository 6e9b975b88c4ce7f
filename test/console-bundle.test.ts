import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { bundleConsole } from '../src/api/console-bundle.ts'

const FOLDER = join(import.meta.dirname, '../src/console')

test('the console has few packages, and its first view two scripts', async () => {
  const { page, packages } = await bundleConsole(FOLDER)
  assert.deepEqual(packages, ['@preact/signals', '@preact/signals-core', 'htm', 'preact', 'uplot'])
  assert.equal(page.match(/rel="modulepreload"/g)?.length, 1)
})
