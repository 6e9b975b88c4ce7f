import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { secondTry } from '../../ops/tests/second-try.ts'

const failure = (name: string, text = 'first') => ({ name, failures: [`✖ ${text}`], output: '' })

describe('the second try of a whole run', () => {
  test('fails with the second failure of a file, and reports one that passes now as flaky', async () => {
    const tried: string[] = []
    const result = await secondTry([failure('broken'), failure('flaky')], async (file) => {
      tried.push(file)
      return file === 'broken' ? failure(file, 'second') : undefined
    })
    assert.deepEqual(tried, ['broken', 'flaky'])
    assert.deepEqual(result, { failed: [failure('broken', 'second')], flaky: [failure('flaky')] })
  })

  test('is not made for more than three files', async () => {
    const failed = ['a', 'b', 'c', 'd'].map((name) => failure(name))
    const result = await secondTry(failed, async (file) => assert.fail(`${file} was tried`))
    assert.deepEqual(result, { failed, flaky: [] })
  })
})
