import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Command } from 'commander'
import { z } from 'zod'
import { operationFlags } from '../../src/cli/operation-command.ts'
import { argumentsOf, flagsOf, withFlagNames } from '../../src/cli/operation-flags.ts'
import { closed, optional, time } from '../../src/core/arguments.ts'
import { TriviumError } from '../../src/core/errors.ts'
import { spoken } from '../../src/core/spoken.ts'
import { HOUR } from '../../src/core/units.ts'
import { deadLetters, messages } from '../../src/engine/operations/messages.ts'
import { audit } from '../../src/features/audit/operations.ts'
import { pauses } from '../../src/features/pauses/operations.ts'
import { people } from '../../src/features/person/operations.ts'
import { tasks, workbench } from '../../src/features/workbench/operations.ts'

/**
 * The help of a command with the flags of an operation, and the arguments that a command line
 * gives.
 */
function commandOf(args: z.ZodType, without: string[] = []) {
  const command = new Command('it').exitOverride().configureOutput({ writeErr: () => {} })
  const { read } = operationFlags(command, args, without)
  return {
    flags: command.options.filter(({ hidden }) => !hidden).map(({ long }) => long),
    help: command.helpInformation(),
    read: (...words: string[]) => read(command.parse(words, { from: 'user' }).opts()),
  }
}

describe('the flags of an operation on the command line', () => {
  test('are its arguments: one that is added to the schema is a flag without further work', () => {
    const grown = closed({ ...messages.search.shape, colour: optional('Only of this colour') })
    const { flags, read } = commandOf(grown)
    assert.deepEqual(
      flags.toSorted(),
      Object.keys(grown.shape)
        .map((name) => `--${name}`)
        .toSorted(),
    )
    assert.deepEqual(read('--colour', 'red', '--limit', '5'), { colour: 'red', limit: 5 })
    for (const args of [audit.list, deadLetters.groups])
      assert.equal(commandOf(args).flags.length, Object.keys(args.shape).length)
  })

  test('have the names and defaults that the operation declares for people; its own names work too', () => {
    const { flags, help, read } = commandOf(deadLetters.list)
    assert.ok(flags.includes('--route') && !flags.includes('--group'), String(flags))
    assert.match(help, /--since <time>[\s\S]*\(default: 50\)/)
    assert.deepEqual(read('--route', 'bad'), { group: 'bad', limit: 50 })
    assert.deepEqual(read('--group', 'bad'), { group: 'bad', limit: 50 })
  })

  test('set fields of an object, several values, and one value in several fields', () => {
    const { read } = commandOf(workbench.update)
    assert.deepEqual(
      read('--active-task', 'none', '--next-action', 'go', '--risk', 'a, b', 'c', '--remove', 'x'),
      {
        set: { active_task_id: null, next_action: 'go' },
        add: { risks: ['a, b', 'c'] },
        remove: { touched_files: ['x'], assumptions: ['x'], risks: ['x'] },
      },
    )
    assert.deepEqual(commandOf(tasks.add, ['title', 'kind']).read('--review', 'src/a.ts'), {
      target: 'src/a.ts',
    })
  })

  test('take a range of time in the words of the console, in UTC', () => {
    const { since, until } = commandOf(messages.search).read('--since', '2026-11-27 10-11:30')
    assert.deepEqual([since, until], ['2026-11-27T10:00:00.000Z', '2026-11-27T11:30:00.000Z'])
    const evening = commandOf(messages.search).read('--since', 'yesterday evening')
    assert.equal(Date.parse(String(evening.until)) - Date.parse(String(evening.since)), 6 * HOUR)
    const given = commandOf(messages.search).read('--since', 'yesterday 10:00', '--until', '1h')
    assert.deepEqual([given.since, given.until], ['yesterday 10:00', '1h'])
    const hour = commandOf(deadLetters.list).read('--since', 'yesterday 10', '--until', '11')
    assert.equal(Date.parse(String(hour.until)) - Date.parse(String(hour.since)), 3_600_000)
  })

  test('refuse a range that ends before it begins or begins in the future, and name the flag', () => {
    const { read } = commandOf(deadLetters.list)
    const refused = (words: string, reason: RegExp) =>
      assert.throws(() => read(...words.split(' ')), { code: 'usage', message: reason })
    refused('--since 1h --until 2h', /--until 2h is not after 1h/)
    refused('--arrived-since 1h --arrived-until 2h', /--arrived-until 2h is not after 1h/)
    refused('--since 2999-01-01', /--since 2999-01-01 is in the future/)
    refused('--since soon', /--since is a time .*, or a range such as "yesterday 18-24".*, not "soon"/)
  })

  test('give the end of a pause as a time, the next time of day, or a duration', () => {
    const { read } = commandOf(pauses['route-pause'], ['route'])
    const at = new Date(Date.now() + 3 * HOUR).toISOString()
    const hours = (...words: string[]) => Math.round(Number(read(...words).for) / HOUR)
    assert.equal(hours('--until', at.replace(/\.\d+Z$/, 'Z')), 3)
    assert.equal(hours('--until', at.slice(11, 16)), 3)
    assert.equal(hours('--until', '3h'), 3)
    assert.equal(read('--for', '3h').for, '3h')
    for (const [end, reason] of [
      ['2026-01-01T10:00Z', /--until 2026-01-01T10:00Z is in the past/],
      ['soon', /--until is a time such as .*14:00.*, not soon/],
    ] as const)
      assert.throws(() => read('--until', end), { message: reason })
    assert.throws(() => read('--until', '3h', '--for', '3h'), /cannot be used with/)
  })

  test('are refused if a required one is missing, or a value has another type', () => {
    const { read } = commandOf(messages.replay)
    assert.throws(() => read(), /required option '--since <time>' not specified/)
    assert.throws(
      () => commandOf(audit.list).read('--limit', 'many'),
      /--limit takes a whole number, not "many"/,
    )
  })

  test('exist for every name that a tool of an MCP server may give to an argument', () => {
    const args = z.object({
      URL: z.string().optional(),
      userID: z.string().optional(),
      noCache: z.boolean().optional(),
      'no-reply': z.string().optional(),
      $top: z.int().optional(),
      'filter[from, to]': z.string().optional(),
      '=': z.string().optional(),
    })
    const { flags, read } = commandOf(args)
    const known =
      '--url --user-id --skill-no-cache --no-skill-no-cache --skill-no-reply --$top --filter-from-to'
    assert.deepEqual(flags, known.split(' '))
    assert.deepEqual(read(), {})
    assert.deepEqual(read('--skill-no-cache', '--url', 'a', '--user-id', 'b', '--$top', '5'), {
      ...{ noCache: true, URL: 'a', userID: 'b', $top: 5 },
    })
    assert.deepEqual(read('--no-skill-no-cache', '--filter-from-to', 'x', '--skill-no-reply', 'y'), {
      ...{ noCache: false, 'filter[from, to]': 'x', 'no-reply': 'y' },
    })
  })

  test('name each argument of an invalid value, also those that share a flag, and each text once', () => {
    const flags = flagsOf(argumentsOf(workbench.update), workbench.update)
    const details = ['remove.assumptions.0', 'remove.risks.0', 'set.next_action'].map((path) => {
      return { path, message: 'too long' }
    })
    const error = new TriviumError('skill_args_invalid', { name: 'it', details: 'several' }, { details })
    const { message } = Object(withFlagNames(error, 'it', flags))
    assert.equal(message, '--remove: too long; --next-action: too long. See `it --help`.')
  })

  test('keep their declaration if the schema has a default or a description', () => {
    const args = z.object({
      at: time.exactOptional().describe('When'),
      n: spoken(z.int().default(3), { type: 'count' }),
    })
    assert.match(commandOf(args).help, /--at <time> +When\n +--n <count> +\(default 3\)/)
  })

  test('that are repeated add to a list, and the last one counts for other values', () => {
    const identities = commandOf(people.count)
    assert.deepEqual(identities.read('--identity', 'a@b.example', '--identity', 'team:U1'), {
      identity: ['a@b.example', 'team:U1'],
    })
    const args = z.object({ tags: z.array(z.string()).default(['x']), n: z.int().optional() })
    assert.deepEqual(commandOf(args).read('--tags', 'a,b', '--tags', 'c', '--n', '1', '--n', '2'), {
      tags: ['a', 'b', 'c'],
      n: 2,
    })
  })
})
