import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { secondTry } from '../../ops/tests/second-try.ts'

const failure = (name: string, text = 'first') => ({ name, failures: [`✖ ${text}`], output: '' })

describe('the second try of a whole run', () => {
  test('a file that fails again fails the run with its second failure; one that passes is reported as flaky', async () => {
    const tried: string[] = []
    const ended = await secondTry([failure('broken'), failure('flaky')], async (file) => {
      tried.push(file)
      return file === 'broken' ? failure(file, 'second') : undefined
    })
    assert.deepEqual(tried, ['broken', 'flaky'])
    assert.deepEqual(ended, { failed: [failure('broken', 'second')], flaky: [failure('flaky')] })
  })

  test('more than three failures are not chance: no file gets a second try', async () => {
    const failed = ['a', 'b', 'c', 'd'].map((name) => failure(name))
    const ended = await secondTry(failed, async (file) => assert.fail(`${file} was tried`))
    assert.deepEqual(ended, { failed, flaky: [] })
  })
})
