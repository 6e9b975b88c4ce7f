import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const [HOUR, DAY] = [3_600_000, 86_400_000]

const ROUTES = `
gateways:
  chat: { transport: websocket, path: /chat }
routes:
  - { name: flaky, match: { prefix: flaky }, skill: flaky, retry: { attempts: 100, delay: 500ms, max-delay: 1s } }
  - { name: rest, skill: echo }
`
const SKILLS = {
  flaky: `import { appendFileSync } from 'node:fs'
export default { description: 'fails', run() { appendFileSync('tries', 'x'); throw new Error('again') } }`,
  tick: `import { appendFileSync } from 'node:fs'
export default { description: 'ticks', run() { appendFileSync('ticks', 'x') } }`,
}
/** Moves the wall clock of a process by the number of ms in a file. */
const CLOCK = `import { readFileSync } from 'node:fs'
const Real = Date
let offset = 0
setInterval(() => { try { offset = Number(readFileSync(process.env.CLOCK, 'utf8')) } catch {} }, 50).unref()
globalThis.Date = class extends Real {
  constructor(...args) { if (args.length === 0) super(Real.now() + offset); else super(...args) }
  static now() { return Real.now() + offset }
}
`

describe('a jump of the wall clock', { timeout: 300_000 }, async () => {
  const site = openSite({ ownProcess: true, routes: ROUTES, skills: SKILLS })
  site.write('clock.mjs', CLOCK)
  const clock = join(site.dir, 'clock')
  const set = (ms: number) => writeFileSync(clock, String(ms))
  set(0)
  const daemon = await site.start({ NODE_OPTIONS: `--import ${join(site.dir, 'clock.mjs')}`, CLOCK: clock })
  const count = (name: string) => {
    try {
      return readFileSync(join(site.dir, name)).length
    } catch {
      return 0
    }
  }
  const more = (name: string) => {
    const before = count(name)
    // Two more, since the first may have been due already.
    return until(() => count(name) > before + 1, `more ${name}`)
  }
  /** Resolves after further runs of the schedule and of the retried skill. */
  const continues = () => Promise.all([more('ticks'), more('tries')])

  test('does not stop schedules or retries, during and after it', async () => {
    await daemon.invoke('schedule-create', { skill: 'tick', every: '1s' })
    const { send } = await daemon.chat('/chat')
    send({ text: 'flaky' })
    await continues()
    for (const jump of [DAY, -HOUR]) {
      set(jump)
      await continues()
      assert.equal(Object(await daemon.invoke('schedule-list')).length, 1)
      set(0)
      await continues()
    }
    const { ask: other } = await daemon.chat('/chat')
    assert.equal(await other('hello'), 'You said: hello')
  })
})
