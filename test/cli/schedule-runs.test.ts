import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
schedules: [{ name: nightly, cron: '0 3 1 1 *', skill: report }]
routes: [{ name: all, skill: echo }]
`
const SKILLS = { report: `export default { description: 'reports', run: () => 'three orders' }` }

describe('schedule show', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: SKILLS })
  await site.start()

  test('has the id of each run, who started one by hand, and what it returned', async () => {
    await site.run(['schedule', 'run', 'nightly'])
    const runs = async () => JSON.parse((await site.run(['schedule', 'show', 'nightly', '--json'])).out).runs
    const [run] = await until(
      async () => ((await runs())[0]?.outcome === 'done' ? runs() : undefined),
      'the run',
    )
    assert.match(run.id, /^[0-9a-f]{8}$/)
    assert.match(run.by, /@/)
    const { out, err } = await site.run(['schedule', 'show', 'nightly'])
    assert.ok(
      out.split('\n').some((line) => line.startsWith(run.id) && line.includes(`\t${run.by}\t`)),
      out,
    )
    assert.match(out, /\tdone\tthree orders$/m)
    assert.match(err, /`trivium schedule show nightly --run ID`/)
    const one = await site.run(['schedule', 'show', 'nightly', '--run', run.id])
    assert.match(one.out, new RegExp(`^run +${run.id}\n[\\s\\S]*It returned:\nthree orders`))
    const none = await site.run(['schedule', 'show', 'nightly', '--run', '00000000'])
    assert.equal(none.code, 1)
    assert.match(none.err, /There is no run 00000000 of schedule nightly\. .*`trivium schedule show nightly`/)
  })
})
