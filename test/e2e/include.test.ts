import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const MAIN = `include: [routes.d/*.yaml]
gateways:
  main: { transport: webhook, path: /main, verify: { scheme: none } }
routes:
  - { name: own, match: { gateway: main, event: own }, skill: echo }
`
const team = (name: string, skill = 'echo') => `gateways:
  ${name}: { transport: webhook, path: /${name}, verify: { scheme: none } }
routes:
  - { name: ${name}, match: { gateway: ${name} }, skill: ${skill} }
`

describe('a daemon with a configuration in several files', { timeout: 300_000 }, () => {
  const suite = suiteWithDaemon({ routes: MAIN })
  const statusOf = async (path: string) => (await suite.daemon.post(path, '{}')).status
  const isServed = (path: string, status = 202) =>
    until(async () => (await statusOf(path)) === status, `${path} answers ${status}`)
  const configuration = async () => Object(await suite.daemon.get('/v1/configuration')).result
  const includedFiles = async () => (await configuration()).files.map(({ file }: { file: string }) => file)
  const assertFailure = async (reason: RegExp) => {
    const reload = await until(async () => {
      const { ok, error } = (await configuration()).reload
      return ok ? undefined : String(error)
    }, 'a failed reload')
    assert.match(reload, reason)
  }
  const recovered = () => until(async () => (await configuration()).reload.ok, 'a successful reload')

  test('follows new, changed and deleted files of the pattern', async () => {
    assert.equal(await statusOf('/sales'), 404)
    suite.site.write('routes.d/sales.yaml', team('sales'))
    await isServed('/sales')
    assert.deepEqual(await includedFiles(), ['routes.yaml', 'routes.d/sales.yaml'])
    suite.site.write('routes.d/sales.yaml', team('orders'))
    await isServed('/orders')
    assert.equal(await statusOf('/sales'), 404)
    rmSync(join(suite.site.dir, 'routes.d/sales.yaml'))
    await isServed('/orders', 404)
    assert.equal(await statusOf('/main'), 202)
  })

  test('keeps the last good configuration while a file is invalid, and reports the place', async () => {
    suite.site.write('routes.d/sales.yaml', team('sales'))
    await isServed('/sales')
    suite.site.write('routes.d/sales.yaml', team('sales', 'ehco'))
    await assertFailure(/routes\.d\/sales\.yaml:4:\d+ {2}there is no skill "ehco"; did you mean "echo"/)
    assert.equal(await statusOf('/sales'), 202)
    const { out, code } = await suite.site.run(['route', 'check'])
    assert.equal(code, 2)
    assert.match(out, /routes\.d\/sales\.yaml:4:/)
    suite.site.write('routes.d/sales.yaml', team('sales'))
    await recovered()
  })

  test('reports both places of a name that is defined twice', async () => {
    suite.site.write('routes.d/other.yaml', team('main'))
    await assertFailure(/routes\.d\/other\.yaml:2:3 {2}"main" is already defined in routes\.yaml:3/)
    rmSync(join(suite.site.dir, 'routes.d/other.yaml'))
    await recovered()
  })

  test('follows a file that is included later or created later', async () => {
    suite.site.write('routes.yaml', MAIN.replace('*.yaml]', '*.yaml, late.yaml]'))
    await assertFailure(/routes\.yaml:1:\d+ {2}there is no file .*late\.yaml/)
    suite.site.write('late.yaml', team('late'))
    await isServed('/late')
    suite.site.write('late.yaml', team('later'))
    await isServed('/later')
    suite.site.write('routes.yaml', MAIN)
    await isServed('/later', 404)
  })

  test('follows the links of a ConfigMap', async () => {
    const folder = join(suite.site.dir, 'routes.d')
    const swap = (version: string, files: Record<string, string>) => {
      mkdirSync(join(folder, version))
      for (const [name, text] of Object.entries(files)) suite.site.write(`routes.d/${version}/${name}`, text)
      symlinkSync(version, join(folder, '..tmp'))
      renameSync(join(folder, '..tmp'), join(folder, '..data'))
    }
    swap('..1', { 'map.yaml': team('map1') })
    symlinkSync('..data/map.yaml', join(folder, 'map.yaml'))
    await isServed('/map1')
    swap('..2', { 'map.yaml': team('map2'), 'more.yaml': team('more') })
    await isServed('/map2')
    symlinkSync('..data/more.yaml', join(folder, 'more.yaml'))
    await isServed('/more')
    assert.equal(await statusOf('/map1'), 404)
  })

  test('names its files in doctor, route check and config show', async () => {
    const run = async (...args: string[]) => (await suite.site.run(args)).out
    assert.match(await run('doctor'), /routes\.yaml, with routes\.d\/map\.yaml, routes\.d\/more\.yaml/)
    assert.match(await run('route', 'check'), /routes\.yaml and its included files are valid: routes\.d\/map/)
    assert.match(await run('config', 'show'), /# routes\.d\/more\.yaml\ngateways:\n {2}more:/)
    const { files } = JSON.parse(await run('--json', 'config', 'show'))
    assert.equal(files[1].file, 'routes.d/map.yaml')
  })
})
