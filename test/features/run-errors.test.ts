import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toJson } from '../../src/core/json.ts'
import { errorsOf } from '../../src/features/usage/print.ts'
import { runErrors } from '../../src/features/usage/run-errors.ts'

const printed = (usage: object) => errorsOf(Object(toJson(usage))).join('\n')
const run = (error: string, at: number) => ({ at, ms: 1, by: 'route a', code: 'skill_failed', error })

test('the errors of a skill say how many failed runs they are of, and how many are only counted', () => {
  const runs = Array.from({ length: 200 }, (_, at) => run('no paper', at))
  const found = runErrors(runs)
  assert.deepEqual([found.errors[0]?.count, found.errorsOf, found.moreErrors], [200, 200, undefined])
  const text = printed({ ...found, failed: 1_234 })
  assert.match(
    text,
    /\nThe errors are those of the newest 200 failed runs; the other 1,034 are only counted\.$/,
  )
  assert.doesNotMatch(printed({ ...found, failed: 200 }), /counted/)
})

test('the errors of a skill say how many runs had errors that are not listed', () => {
  const names = Array.from({ length: 22 }, (_, at) => String.fromCodePoint(97 + at))
  const runs = names.flatMap((name, at) => [
    run(`no ${name}`, at),
    ...(at < 20 ? [run(`no ${name}`, at)] : []),
  ])
  const found = runErrors(runs)
  assert.deepEqual([found.errors.length, found.errorsOf, found.moreErrors], [20, 42, 2])
  assert.match(printed({ ...found, failed: 42 }), /\n2 failed runs had other errors, which are rarer\.$/)
})
