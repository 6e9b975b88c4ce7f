import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type DaemonProcess, openSite, type Site } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways: {}
routes:
  - { name: rest, skill: echo }
`

const SKILLS = {
  tick: `import { appendFileSync } from 'node:fs'
export default { description: 'ticks', run({ args, nonlocals }) {
  appendFileSync('ticks', JSON.stringify({ pid: process.pid, ...args, ...nonlocals.schedule }) + '\\n')
} }`,
  broken: `export default { description: 'fails', run() { throw new Error('no') } }`,
  flaky: `import { existsSync, writeFileSync } from 'node:fs'
export default { description: 'fails once', run() {
  if (existsSync('failed')) return 'now it is done'
  writeFileSync('failed', '')
  throw new Error('not yet')
} }`,
}

const CHAT = `
gateways:
  chat: { transport: websocket, path: /chat, tokens: { ada: "ada's long token" } }
  open: { transport: websocket, path: /open }
access:
  roles:
    staff: { members: [chat:ada], skills: [plan, tick] }
    guests: { members: ["*"], skills: [plan] }
routes:
  - { name: plan, match: { prefix: plan }, skill: plan }
`

const PLANNING = {
  plan: `export default { description: 'makes a schedule', async run({ args, manager }) {
  try {
    return (await manager.invoke('schedule-create', { skill: args.text.replace('plan ', ''), every: '1s' })).id
  } catch (error) {
    return error.code + ': ' + error.message
  }
} }`,
  secret: `import { writeFileSync } from 'node:fs'
export default { description: 'tells', run() { writeFileSync('told', '') } }`,
}

type Tick = { pid: number; planned: string; n: number }

const read = (path: string) =>
  existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').filter(Boolean) : []
const ticks = (site: Site): Tick[] => read(join(site.dir, 'ticks')).map((line) => JSON.parse(line))
const ticked = (site: Site, count: number) =>
  until(() => (ticks(site).length >= count ? ticks(site) : undefined), `${count} ticks`)
const happened = (site: Site, event: string) =>
  until(
    () =>
      read(join(site.dir, '.trivium', 'events.jsonl'))
        .map((line) => JSON.parse(line))
        .find((entry) => entry.event === event),
    `${event} in the trace`,
    30_000,
  )

/**
 * Asserts that each planned time ran once, and is a multiple of `every` ms after the creation.
 * The run that a kill interrupted may be repeated.
 */
function assertOncePerPlannedTime(found: readonly Tick[], created: string, every: number, killed?: number) {
  const cutOff = found.findLast(({ pid }) => pid === killed)?.planned
  const counted = found.filter(({ pid, planned }) => pid === killed || planned !== cutOff)
  const planned = counted.map((tick) => tick.planned)
  assert.deepEqual(planned, [...new Set(planned)], 'a planned time fired twice')
  for (const time of planned) assert.equal((Date.parse(time) - Date.parse(created)) % every, 0, time)
}

const makeSite = (env = {}) => openSite({ ownProcess: true, routes: ROUTES, skills: SKILLS, env })

const everySecond = { skill: 'tick', every: '1s', args: { n: 1 } }

// Tests run side by side: each has its own daemon, and mostly waits.
describe('a schedule', { timeout: 300_000, concurrency: 3 }, () => {
  test('can be created on the command line, fires once per planned time, and is in the trace', async () => {
    const site = makeSite()
    const daemon = await site.start()
    const made = await site.run(
      'schedule-create --skill tick --every 1s --skill-args {"n":1} --json'.split(' '),
    )
    assert.equal(made.code, 0, made.err)
    const { id, created } = JSON.parse(made.out)
    assert.equal(id, 'schedule-1')
    const found = await ticked(site, 3)
    assertOncePerPlannedTime(found, created, 1000)
    assert.equal(found[0]?.n, 1)
    await happened(site, 'schedule_ran')
    assert.equal((await happened(site, 'schedule_fired')).schedule, id)

    const [listed] = Object(await daemon.invoke('schedule-list'))
    assert.ok(listed.next > Date.now() - 1000)
    assert.deepEqual(await daemon.invoke('schedule-delete', { id }), { ok: true, existed: true })
    assert.deepEqual(await daemon.invoke('schedule-list'), [])
    await daemon.end()
  })

  test('fires once per planned time with two daemons on one Redis, also when one of them is killed', async (t) => {
    const redis = await startRedisServer()
    t.after(() => redis.stop())
    const site = makeSite({ REDIS_URL: redis.url })
    const daemons: DaemonProcess[] = [
      await site.start(),
      await site.start({ TRIVIUM_DATA_DIR: '.trivium-2' }),
    ]
    const [one, two] = daemons
    assert.ok(one && two)
    const { created } = Object(await two.invoke('schedule-create', everySecond))
    await ticked(site, 3)
    await one.end('SIGKILL')
    const before = ticks(site).length
    const found = await ticked(site, before + 2)
    assertOncePerPlannedTime(found, created, 1000, one.pid)
    assert.ok(found.slice(before).some(({ pid }) => pid === two.pid))
    await two.end()
  })

  test('whose runs become dead letters is reported once to the conversation that created it', async () => {
    const routes = `
gateways: { chat: { transport: websocket, path: /chat, tokens: { ada: "ada's long token" } } }
routes: [{ name: plan, match: { prefix: plan }, skill: plan }]
`
    const lost = `export default { description: 'can never run', run: ({ manager }) => manager.invoke('state-get') }`
    const site = openSite({ ownProcess: true, routes, skills: { ...PLANNING, lost } })
    const daemon = await site.start()
    const ada = await daemon.chat("/chat?token=ada's%20long%20token")
    assert.match(await ada.ask('plan state-get'), /^skill_args_invalid: .*key is missing/)
    assert.equal(await ada.ask('plan lost'), 'schedule-1')
    const report = await ada.next('message', 30_000)
    assert.match(String(report.text), /^lost \(schedule-1\) failed: .*arguments/)
    const dead = async () => Object(await daemon.invoke('dead-letter-list', { queue: 'schedules' }))
    await until(async () => (await dead()).length >= 3, 'three dead letters')
    assert.equal(ada.all('message').length, 3)
    ada.close()
    await daemon.end()
  })

  test('retries a skill that fails, and both runs are in the trace', async () => {
    const site = makeSite()
    const daemon = await site.start()
    await daemon.invoke('schedule-create', { skill: 'flaky', every: '1s' })
    assert.equal((await happened(site, 'schedule_ran')).result, 'now it is done')
    const failed = await happened(site, 'schedule_failed')
    assert.match(failed.error, /not yet/)
    assert.equal(failed.again, true)
    await daemon.end()
  })

  test('created by a message runs with the rights of its sender only', async () => {
    const site = openSite({ ownProcess: true, routes: CHAT, skills: { ...SKILLS, ...PLANNING } })
    const daemon = await site.start()
    const { ask: ada } = await daemon.chat(`/chat?token=${encodeURIComponent("ada's long token")}`)
    assert.equal(await ada('plan tick'), 'schedule-1')
    assert.match(await ada('plan secret'), /^forbidden: Skill secret for chat:ada is not allowed/)
    const { by } = Object(Object(await daemon.invoke('schedule-list'))[0])
    assert.deepEqual(by, { id: 'chat:ada', roles: ['staff', 'guests'] })
    await ticked(site, 1)
    site.write('routes.yaml', CHAT.replace('[plan, tick]', '[plan]'))
    const refused = await happened(site, 'schedule_failed')
    assert.match(refused.error, /Skill tick for chat:ada is not allowed/)
    assert.equal(refused.again, false)

    const { ask: unknown } = await daemon.chat('/open')
    assert.match(await unknown('plan plan'), /forbidden: .*the sender of this message is not verified/)
    assert.equal(Object(await daemon.invoke('schedule-list')).length, 1)

    await daemon.invoke('schedule-create', { skill: 'secret', every: '1s' })
    await until(() => existsSync(join(site.dir, 'told')), 'the skill for an operator')
    await daemon.end()
  })

  test('is refused for an unknown skill, time zone or policy, or an invalid time', async () => {
    const site = makeSite()
    const daemon = await site.start()
    const refused = (args: object, message: RegExp) =>
      assert.rejects(daemon.invoke('schedule-create', args), message)
    await refused({ skill: 'tickk', every: '1m' }, /skill_not_found: .*Did you mean tick\?/)
    await refused({ skill: 'tick', every: 'often' }, /skill_args_invalid: .*every: expected a duration/)
    await refused({ skill: 'tick', cron: 'every day' }, /usage: /)
    await refused({ skill: 'tick', cron: '0 9 * * *', timezone: 'Mars/Base' }, /usage: /)
    await refused({ skill: 'tick', cron: '0 9 31 2 *' }, /usage: .*never comes/)
    await refused({ skill: 'tick', every: '1m', misfire: 'sometimes' }, /usage: .*sometimes/)
    await refused({ skill: 'tick' }, /usage: /)
    assert.deepEqual(await daemon.invoke('schedule-list'), [])
    await daemon.end()
  })
})
