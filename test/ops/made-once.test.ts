import assert from 'node:assert/strict'
import { readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { test } from 'node:test'

/** The module as another test process has it. */
const inAnotherProcess = (name: string): Promise<typeof import('../../ops/tests/made-once.ts')> =>
  import(`../../ops/tests/made-once.ts?${name}`)

test('a result of the sources that is used again counts as new, so that no other run removes it', async (t) => {
  const first = await inAnotherProcess('first')
  const found: string[][] = []
  const folder = await first.madeOnce('reused', (empty) => void found.push(readdirSync(empty)))
  t.after(() => rmSync(folder, { recursive: true }))
  assert.deepEqual(found, [[]])
  const yesterday = new Date(Date.now() - 24 * 60 * 60_000)
  utimesSync(folder, yesterday, yesterday)
  const second = await inAnotherProcess('second')
  assert.equal(await second.madeOnce('reused', () => assert.fail('it is made already')), folder)
  assert.ok(Date.now() - statSync(folder).mtimeMs < 60_000)
})
