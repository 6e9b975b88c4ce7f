import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { argsInvalid, detailsOf } from '../../src/core/invalid-args.ts'
import { deadLetters, messages } from '../../src/engine/operations/messages.ts'

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

test('an unknown argument is reported with the one that is meant: that of its flag, a synonym, or a similar name', () => {
  const messageFor = (args: z.ZodType, given: object) => {
    const { error } = args.safeParse(given)
    assert.ok(error)
    return argsInvalid('skill', args, error, given).message.replace(/^.*: /, '')
  }
  const cases: [z.ZodType, object, string][] = [
    [deadLetters.list, { route: 'orders' }, 'unknown argument "route"; did you mean "group"?'],
    [deadLetters.groups, { route: 'orders' }, 'unknown argument "route"; did you mean "group"?'],
    [messages.search, { filter: 'x' }, 'unknown argument "filter"; did you mean "search"?'],
    [messages.search, { gatway: 'x' }, 'unknown argument "gatway"; did you mean "gateway"?'],
    [messages.search, { colour: 'red' }, 'unknown argument "colour"'],
    [messages.search, { gatway: 'x', gateway: 'y' }, 'unknown argument "gatway"'],
  ]
  for (const [args, given, message] of cases) assert.equal(messageFor(args, given), message)
})
