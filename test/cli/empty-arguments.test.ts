import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'

describe('an empty argument', { timeout: 60_000 }, async () => {
  const site = openSite({
    routes: 'gateways:\n  cli: { transport: cli }\nroutes:\n  - { name: all, skill: echo }\n',
  })
  await site.start()

  test('for a command, a verb, a name or an id is an error that says why it may be empty', async () => {
    for (const args of [
      [''],
      ['person', ''],
      ['person', 'show', ''],
      ['message', 'show', ''],
      ['audit', ''],
    ]) {
      const { code, err } = await site.run(args)
      assert.equal(code, 2, args.join(' '))
      const line = ['trivium', ...args].join(' ').replace(/ $/, " ''")
      assert.ok(err.includes(`An argument is empty: \`${line}\`.`), err)
    }
  })

  test('for a flag that needs a text is an error that names the flag', async () => {
    const { code, err } = await site.run(['person', 'list', '--gateway', ''])
    assert.equal(code, 2)
    assert.match(err, /--gateway is empty\./)
  })

  test('is a text for the skills of a project, and for flags that take one', async () => {
    assert.equal((await site.run(['echo', ''])).code, 0)
    assert.equal((await site.run(['route', 'pause', 'all', '--reason', ''])).code, 0)
  })
})
