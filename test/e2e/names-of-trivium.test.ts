import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways: { demo: { transport: cli } }
routes: [{ name: rest, skill: echo }]
`
const AUDIT_LAYER = `export default {
  name: 'audit', order: 500, description: 'Notes who ran it.', always: true, setup: () => (ctx, next) => next(),
}`
const skillThat = (returns: string) => `export default { description: 'Own.', run: () => ${returns} }`

describe('files of a project with names of Trivium', { timeout: 300_000 }, () => {
  const suite = suiteWithDaemon({ routes: ROUTES })
  const fileOf = (path: string) => join(suite.site.dir, 'skills', path)
  /** Saves a file, and waits until the daemon logs its path. */
  const save = async (path: string, text: string) => {
    suite.site.write(join('skills', path), text)
    await until(() => suite.daemon.output().includes(fileOf(path)), 'the log')
  }
  const doctor = async () => (await suite.site.run(['doctor'])).out

  test('a layer named like a built-in one does not switch it off, and is an error everywhere', async () => {
    await save('middleware/audit.ts', AUDIT_LAYER)
    const audited = async () => Object(await suite.daemon.invoke('audit-list')).entries.length
    const before = await audited()
    await suite.daemon.invoke('gateway-pause', { gateway: 'demo' })
    await suite.daemon.invoke('gateway-resume', { gateway: 'demo' })
    assert.equal(await audited(), before + 2)
    const refused = /audit\.ts\S* .*the name audit belongs to a built-in layer.*choose another name/
    const checked = await suite.site.run(['route', 'check'])
    assert.deepEqual([checked.code, refused.test(checked.out)], [2, true], checked.out)
    assert.match(await doctor(), /✗\s+layer middleware\/audit\s+\S+audit\.ts: the name audit/)
    await suite.restart()
    assert.match(suite.daemon.output(), /audit\.ts.*choose another name|choose another name.*audit\.ts/)
  })

  test('a skill named like an internal one, or like a tool of an MCP server, is an error', async () => {
    for (const name of ['approval-click', 'docs.search']) {
      await save(`${name}/index.ts`, skillThat('"own"'))
      const { code, out } = await suite.site.run(['route', 'check'])
      assert.deepEqual([code, out.includes(`skills/${name}/index.ts`)], [2, true], out)
      assert.notEqual(await suite.daemon.invoke(name).catch(() => 'refused'), 'own')
    }
  })

  test('a route named like a built-in one is an error', async () => {
    suite.site.write('routes.yaml', ROUTES.replace('rest', 'approval-words'))
    const { code, out } = await suite.site.run(['route', 'check'])
    assert.deepEqual([code, /approval-words.*Trivium/.test(out)], [2, true], out)
    suite.site.write('routes.yaml', ROUTES)
  })

  test('a skill named like an operation replaces it, with a warning, and its result is its own', async () => {
    await save('cost/index.ts', skillThat('({ total: "free of charge" })'))
    const { out } = await suite.site.run(['route', 'check'])
    assert.match(out, /skills\/cost\/index\.ts\s+warning: .*replaces a built-in one/)
    assert.match(await doctor(), /skill cost\s+\S+cost\/index\.ts: .*replaces a built-in one/)
    assert.match((await suite.site.run(['skill', 'list'])).out, /^cost\s+replaces the built-in skill: Own\./m)
    assert.match((await suite.site.run(['cost'])).out, /free of charge/)
    const usage = Object(await suite.daemon.invoke('skill-usage'))
    assert.deepEqual(
      usage.map(({ name }: { name: string }) => name),
      ['cost'],
    )
  })
})
