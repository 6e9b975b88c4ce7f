// Public samples of Bolt, unchanged. `node ops/bolt-samples.ts FOLDER` downloads them; set
// BOLT_SAMPLES to that folder to compare them. Without it, only the documented list is checked.
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openSite } from '../../fixtures/daemon.ts'
import { serveHttp } from '../../fixtures/http-server.ts'
import { battery, deliverAll, differences, namesIn } from './bolt-battery.ts'
import { observe, routesFor } from './bolt-harness.ts'
import { COMMITS, nameOf, pathOf, SAMPLES } from './bolt-public-samples.ts'

const ROOT = process.env.BOLT_SAMPLES ?? ''

test('docs/internals/compatibility.md lists the samples that are compared', () => {
  const page = readFileSync(new URL('../../../docs/internals/compatibility.md', import.meta.url), 'utf8')
  for (const sample of SAMPLES) assert.ok(page.includes(`| \`${nameOf(sample)}\` |`), nameOf(sample))
  for (const [repository, commit] of Object.entries(COMMITS))
    assert.ok(page.includes(`https://github.com/${repository}/tree/${commit}`), repository)
})

describe('public samples of Bolt behave the same behind Trivium as alone:', { skip: ROOT === '' }, () => {
  for (const sample of SAMPLES) {
    const { entry, alone = {}, isHttp = false, env = {}, known } = sample
    const folder = join(ROOT, pathOf(sample))
    const file = join(folder, entry)
    test(nameOf(sample), async (t) => {
      assert.ok(existsSync(file), `${file} is missing: run node ops/bolt-samples.ts ${ROOT}`)
      const own = alone.file === undefined ? {} : { file: join(folder, alone.file) }
      const http = isHttp ? { port: await freePort() } : {}
      const sources = globSync('**/*.{js,ts}', { cwd: folder, exclude: (at) => /node_modules|dist/.test(at) })
      const names = namesIn(sources.map((at) => readFileSync(join(folder, at), 'utf8')).join('\n'))
      const observed = await observe(
        t,
        (_, slack, send) => deliverAll(send, slack, battery(slack, names)),
        (slack) => {
          // Behind Trivium, a listener that throws is run again. One attempt makes both runs
          // comparable.
          const routes = routesFor(slack, file).replace('attempts: 4', 'attempts: 1')
          return {
            site: openSite({ routes, env: { SLACK_SIGNING_SECRET: 'any', ...env } }),
            file,
          }
        },
        { ...alone, ...own, ...http, env },
      )
      t.diagnostic(`${observed.alone.acks.length} payloads, ${observed.alone.calls.length} calls`)
      assert.deepEqual(
        differences(observed.alone, observed.hosted).filter((difference) => !known?.test(difference)),
        [],
      )
    })
  }
})

async function freePort(): Promise<number> {
  const { port, close } = await serveHttp((_, response) => void response.end())
  await close()
  return port
}
