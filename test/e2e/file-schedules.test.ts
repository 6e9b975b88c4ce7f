import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openSite, type Site } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const SKILLS = {
  tick: `import { appendFileSync } from 'node:fs'
export default { description: 'ticks', run({ args, nonlocals }) {
  appendFileSync('ticks', JSON.stringify({ pid: process.pid, ...args, ...nonlocals.schedule }) + '\\n')
} }`,
}

type Tick = { pid: number; id: string; planned: string; n: number }

const routesWith = (...schedules: string[]) => `
gateways: {}
routes: [{ name: rest, skill: echo }]
schedules:
${schedules.map((one) => `  - ${one}`).join('\n')}
`
const everySecond = (n: number) => `{ name: pulse, cron: "* * * * * *", skill: tick, args: { n: ${n} } }`
const ticks = (site: Site): Tick[] => {
  const path = join(site.dir, 'ticks')
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').filter(Boolean) : []
  return lines.map((line) => JSON.parse(line))
}
const ticked = (site: Site, fits: (all: Tick[]) => boolean, expected: string) =>
  until(() => (fits(ticks(site)) ? ticks(site) : undefined), expected)

/**
 * Asserts that no planned time ran twice. Times may be missing, because misfires are caught up only
 * once. The last run of a killed process may be repeated.
 */
function assertNoRepetition(all: readonly Tick[], killed: readonly number[]) {
  const interrupted = killed.map((pid) => all.findLast((tick) => tick.pid === pid)?.planned)
  const planned = all.map((tick) => tick.planned).filter((time) => !interrupted.includes(time))
  assert.deepEqual(planned, [...new Set(planned)], 'a planned time fired twice')
}

describe('a schedule of routes.yaml', { timeout: 300_000, concurrency: 2 }, () => {
  test('runs, follows changes of the file, and stays as it was if the file is invalid', async () => {
    const site = openSite({ ownProcess: true, routes: routesWith(everySecond(1)), skills: SKILLS })
    const daemon = await site.start()
    const reload = async () => site.run(['reload'])
    await ticked(site, (all) => all.length >= 2, 'two ticks')
    assert.equal(ticks(site)[0]?.id, 'pulse')

    const past = '{ name: late, at: 2020-01-01T09:00, skill: tick }'
    for (const [wrong, message] of [
      ['{ name: x, cron: "* * *", skill: tick }', /routes\.yaml:6:\d+.*is invalid/s],
      ['{ name: x, every: 1m, skill: tock }', /routes\.yaml:6:\d+.*no skill "tock"/s],
      [past, /routes\.yaml:6:\d+.*this time has passed/s],
    ] as const) {
      site.write('routes.yaml', routesWith(everySecond(2), wrong))
      const { code, err } = await reload()
      assert.equal(code, 2)
      assert.match(err, message)
    }
    const before = ticks(site).length
    await ticked(site, (all) => all.length >= before + 2, 'ticks after bad files')
    assert.ok(ticks(site).every(({ n }) => n === 1))

    site.write(
      'routes.yaml',
      routesWith(everySecond(3), '{ name: other, every: 1s, skill: tick, args: { n: 4 } }'),
    )
    const good = await reload()
    assert.equal(good.code, 0, good.err)
    await ticked(site, (all) => all.some(({ n }) => n === 3) && all.some(({ n }) => n === 4), 'the new file')
    assert.equal((await site.run(['schedule', 'pause', 'other'])).code, 0)
    const list = (await site.run(['schedule', 'list'])).out
    assert.match(
      list,
      /^pulse\s+\* \* \* \* \* \*, UTC\s+\d{4}-\S+Z\s+\d{4}-\S+Z \w+\s+tick\s+routes\.yaml\s+n: 3$/m,
    )
    assert.match(list, /^other\s+every 1 s\s+paused\s.*tick\s+routes\.yaml/m)

    site.write('routes.yaml', routesWith(everySecond(3)).replace(/schedules:.*/s, ''))
    assert.equal((await reload()).code, 0)
    assert.deepEqual(await daemon.invoke('schedule-list'), [])
    await daemon.end()
    assertNoRepetition(
      ticks(site).filter(({ id }) => id === 'pulse'),
      [],
    )
  })

  test('whose time has passed causes a warning at the start, and does not run', async () => {
    const site = openSite({
      ownProcess: true,
      routes: routesWith(
        '{ name: late, at: 2020-01-01T09:00, skill: tick }',
        '{ name: year, cron: "0 0 8 * * 1 2020", skill: tick }',
        everySecond(1),
      ),
      skills: SKILLS,
    })
    const daemon = await site.start()
    await ticked(site, (all) => all.length >= 2, 'two ticks')
    assert.match(daemon.output(), /this time has passed/)
    assert.equal((await site.run(['reload'])).code, 0, 'an unchanged schedule is valid')
    assert.match((await site.run(['schedule', 'list'])).out, /^late\s.*once at 2020-01-01 09:00, UTC\s+over/m)
    assert.ok(ticks(site).every(({ id }) => id === 'pulse'))
    await daemon.end()
  })

  test('runs at most once for each planned time while daemons on one Redis are killed and restarted', async (t) => {
    const redis = await startRedisServer()
    t.after(() => redis.stop())
    const site = openSite({
      ownProcess: true,
      routes: routesWith(everySecond(1)),
      skills: SKILLS,
      env: { REDIS_URL: redis.url },
    })
    const killed: number[] = []
    let [one, two] = [await site.start(), await site.start({ TRIVIUM_DATA_DIR: '.trivium-2' })]
    for (let round = 0; round < 2; round++) {
      const before = ticks(site).length
      await ticked(site, (all) => all.length >= before + 2, 'two more ticks')
      killed.push(one.pid, two.pid)
      await one.end('SIGKILL')
      const atKill = ticks(site).length
      await ticked(site, (all) => all.length > atKill, 'a tick of the other daemon')
      await two.end('SIGKILL')
      one = await site.start()
      two = await site.start({ TRIVIUM_DATA_DIR: '.trivium-2' })
    }
    const before = ticks(site).length
    await ticked(site, (all) => all.length >= before + 2, 'ticks after all kills')
    await Promise.all([one.end(), two.end()])
    assertNoRepetition(ticks(site), killed)
  })
})
