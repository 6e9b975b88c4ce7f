import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { repeatFailures } from '../../ops/tests/failed.ts'
import { temporaryDir } from '../fixtures/folder.ts'

const failure = (name: string, text: string, output = '') => ({ name, failures: [`✖ ${text}`], output })

describe('the end of the log of a test run', () => {
  test('repeats each failure with the end of its output, and ends with the names', () => {
    const text = repeatFailures([
      failure('a.test.ts', 'adds › wrongly', 'first\nlast line'),
      failure('types', 'TS2345'),
    ])
    assert.match(text, /── a\.test\.ts\n\nfirst\nlast line\n\n✖ adds › wrongly\n\n── types\n\n✖ TS2345/)
    assert.equal(text.split('\n').at(-1), 'Failed: a.test.ts, types')
    assert.equal(repeatFailures([]), '')
  })

  test('has a limited length: the beginning of each error, and the end of each output', () => {
    const long = repeatFailures([
      failure('a', `first ${'x'.repeat(9_000)}`, `${'old\n'.repeat(9_000)}newest`),
    ])
    assert.match(long, /✖ first x+\n… \(6\d{3} more characters\)/)
    assert.match(long, /… old\n[\s\S]*newest/)
    assert.ok(long.length < 5_000, `${long.length} characters`)
    const many = Array.from({ length: 20 }, (_, n) => failure(`f${n}`, 'y'.repeat(9_000), 'z'.repeat(9_000)))
    assert.ok(repeatFailures(many).length < 16_000)
  })

  test('is what `npm test` prints last', (t) => {
    const file = join(temporaryDir(t), 'wrong.test.mts')
    writeFileSync(
      file,
      `import { test } from 'node:test'
console.log('what it wrote')
test('says what is wrong', () => { throw new Error('because of this') })`,
    )
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const run = spawnSync(process.execPath, ['ops/test.ts', file], { env, encoding: 'utf8' })
    assert.equal(run.status, 1, run.stdout + run.stderr)
    const [, repeated = ''] = run.stdout.split('What failed, again:')
    assert.match(repeated, /what it wrote[\s\S]*says what is wrong[\s\S]*because of this/)
    assert.match(repeated.trim().split('\n').at(-1) ?? '', /^Failed: .*wrong\.test\.mts$/)
  })
})
