import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'

describe('documents for people', { timeout: 120_000 }, () => {
  const site = openSite({ routes: 'routes: [{ name: all, skill: echo }]' })
  const printed = async (line: string) => {
    const { code, out, err } = await site.run(line.split(' '))
    assert.equal(code, 0, err)
    return out
  }

  test('have facts, then a table of each list, and are whole as JSON', async () => {
    const empty = await printed('state show')
    assert.match(empty, /^state, revision 1, schema version 2\n/)
    assert.match(empty, /^memory +none$/m)
    await printed('remember milk')
    const shown = await printed('state show')
    assert.match(shown, /^memory\nid\ttext\t.*\nmemory-1\tmilk\t/m)
    assert.doesNotMatch(shown, /"memory-1"/)
    assert.match(await printed('state show --json'), /"schema_version":2/)
  })

  test('of the workbench name its open tasks', async () => {
    await printed('state init')
    assert.match(await printed('workbench show'), /No open tasks\.\n$/)
    await printed('workbench add parser --acceptance tests')
    await printed('workbench update --next-action dates --touched a.ts --touched b.ts')
    const shown = await printed('workbench show')
    assert.match(shown, /^next action +dates$/m)
    assert.match(shown, /^touched files +a\.ts\n +b\.ts$/m)
    assert.match(shown, /\nOpen tasks\ntask-1 {2}open {2}parser \(build\)\n$/)
    assert.doesNotMatch(shown, /schema_version|\[\]/)
  })
})
