import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { COMMANDS_BY_TASK } from '../../ops/docs/commands-by-task.ts'
import { WITH_EXAMPLES } from '../../src/cli/examples.ts'
import { openSite } from '../fixtures/daemon.ts'

/** Commands that people use often, and whose usage line says all. */
const SIMPLE = new Set([
  ...['status', 'top', 'doctor', 'route check', 'gateway traffic', 'gateway reconnect', 'job cancel'],
  ...['daemon resume', 'compact', 'store grow', 'store pause', 'send cancel', 'gateway ack'],
  ...['gateway nack', 'gateway extend', 'event subscribe', 'event ack'],
  ...['subscription resume', 'init', 'demo', 'start'],
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

  test('exist for each command that lists or shows something', () => {
    const reference = readFileSync('docs/reference/commands.md', 'utf8')
    const commands = Array.from(reference.matchAll(/^### `([^`]+)`$/gm), ([, name = '']) => name)
    const reading = commands.filter((name) => / (list|show|open|groups|unread|waiting)$/.test(name))
    assert.ok(reading.length > 40)
    assert.deepEqual(
      reading.filter((command) => !WITH_EXAMPLES.includes(command)),
      [],
    )
  })

  test('exist for each command of a common task, unless its usage says all', () => {
    const common = Object.values(COMMANDS_BY_TASK).flat()
    const without = common.filter((command) => !WITH_EXAMPLES.includes(command) && !SIMPLE.has(command))
    assert.deepEqual(without, [])
  })
})
