import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { detailsOf } from '../../src/core/invalid-args.ts'

const schema = z.object({
  headers: z.record(z.string(), z.string()),
  mode: z.record(z.string(), z.enum(['on', 'off'])),
})

function problemsOf(given: unknown): Record<string, string> {
  const { error } = schema.safeParse(given)
  assert.ok(error)
  return Object.fromEntries(detailsOf(error, given).map(({ path, message }) => [path, message]))
}

test('a wrong value under a name with a dot is not reported as missing', () => {
  const problems = problemsOf({ headers: { 'x.y': 5 }, mode: { 'a.b': 'offf' } })
  assert.match(problems['headers.x.y'] ?? '', /expected string/)
  assert.match(problems['mode.a.b'] ?? '', /did you mean "off"/)
})

test('an absent value is reported as missing', () => {
  assert.deepEqual(problemsOf({ headers: {} }), { mode: 'is missing' })
})
