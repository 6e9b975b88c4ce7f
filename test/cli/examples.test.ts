import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { COMMANDS_BY_TASK } from '../../ops/docs/commands-by-task.ts'
import { WITH_EXAMPLES } from '../../src/cli/examples.ts'
import { openSite } from '../fixtures/daemon.ts'

/** Commands that people use often, and whose usage line says all. */
const SIMPLE = new Set([
  ...['trouble list', 'status', 'top', 'doctor', 'error show', 'route check', 'route list'],
  ...['dead-letter show', 'refusal list', 'gateway traffic', 'gateway reconnect', 'job cancel'],
  ...['daemon resume', 'compact', 'store grow', 'store pause', 'send list', 'send cancel', 'gateway ack'],
  ...[
    'gateway nack',
    'gateway extend',
    'gateway show',
    'event subscribe',
    'event ack',
    'group list',
    'group show',
  ],
  ...['subscription list', 'subscription show', 'subscription resume', 'init', 'demo', 'start'],
  ...['parts', 'message', 'skill'],
])
const MAX_WIDTH = 100

describe('the examples in the help', { timeout: 300_000 }, () => {
  const site = openSite({ routes: 'routes: [{ name: all, skill: echo }]' })
  const helpOf = async (command: string) => (await site.run([...command.split(' '), '--help'])).out
  const examplesIn = (help: string) => /\nExamples:\n([\s\S]*)$/.exec(help)?.[1]?.trimEnd().split('\n') ?? []

  test('are those of the command, with flags that it has', async () => {
    for (const command of WITH_EXAMPLES) {
      const help = await helpOf(command)
      const examples = examplesIn(help)
      assert.ok(examples.length > 0, command)
      const options = help.slice(0, help.indexOf('\nExamples:'))
      for (const example of examples) {
        assert.ok(example.length < MAX_WIDTH && example.includes(`trivium ${command}`), example)
        for (const [flag] of example.matchAll(/(?<= )--[a-z-]+/g))
          assert.ok(options.includes(flag.replace('--no-approve', '--approve')), `${example}: ${flag}`)
      }
    }
  })

  test('exist for each command of a common task, unless its usage says all', () => {
    const common = Object.values(COMMANDS_BY_TASK).flat()
    const without = common.filter((command) => !WITH_EXAMPLES.includes(command) && !SIMPLE.has(command))
    assert.deepEqual(without, [])
  })
})
