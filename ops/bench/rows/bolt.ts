import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { type Bench, type Contender, interleave, type Line, type Row } from '../lib/bench.ts'
import { createProject, startDaemon, writeRoutes } from '../lib/daemon.ts'
import { CORE, cpuMicros, startPeer } from '../lib/peer.ts'
import { skillSource } from '../lib/skills.ts'
import { SLACK } from '../lib/slack-events.ts'
import { ratio, spread } from '../lib/statistics.ts'

const MODES = ['http', 'socket'] as const
type Mode = (typeof MODES)[number]
/** Events a second for the measurement of latency. */
const PACE = 500
/**
 * The app runs in a thread of its own, so it writes its count to a file, in a folder that is not
 * watched.
 */
const APP = `let count = 0
setInterval(() => require('node:fs').writeFileSync(__dirname + '/.trivium/events', String(count)), 20)
exports.registerListeners = (app) => app.message(async () => void count++)`
const ROUTES = `routes: [{ name: app, match: { gateway: team }, bolt: ./app.cjs, concurrency: 64 }]\n`
/** Returns the count of the app. */
const COUNT_SKILL = skillSource(
  `run: async () => ({ count: Number((await import('node:fs')).readFileSync(new URL('../../.trivium/events', import.meta.url))) })`,
)

/**
 * Slack events for a Bolt app whose listener does nothing, accepted and acknowledged; compared with
 * Bolt alone.
 */
export const bolt: Row = {
  name: 'bolt',
  title: 'events for a Bolt app, by HTTP and Socket Mode, against plain Bolt',
  async run(bench) {
    const contenders: Contender[] = []
    for (const mode of MODES) {
      contenders.push(await plain(bench, mode))
      for (const store of bench.stores) contenders.push(await trivium(bench, mode, store))
    }
    const rounds = await interleave(bench, contenders)
    const lines = (mode: Mode, store: string): Line[] => {
      const mine = rounds(`${store}, ${mode}`)
      const theirs = rounds(`plain, ${mode}`)
      const line = (figure: string, unit: string) => ({
        row: 'bolt',
        store,
        figure: `${mode}: ${figure}`,
        unit,
      })
      return [
        { ...line('rate / plain Bolt', 'x'), value: ratio(mine, theirs, 'rate') },
        { ...line(`p99 at ${PACE}/s / plain`, 'x'), value: ratio(mine, theirs, 'p99'), target: { most: 2 } },
        { ...line('rate', 'events/s'), value: spread(mine, 'rate') },
        { ...line('rate of listeners', 'events/s'), value: spread(mine, 'listenerRate') },
        { ...line(`p99 at ${PACE}/s`, 'ms'), value: spread(mine, 'p99') },
        { ...line(`processor time at ${PACE}/s`, 'µs'), value: spread(mine, 'cpu') },
        { ...line(`processor time at ${PACE}/s, plain`, 'µs'), value: spread(theirs, 'cpu') },
        { ...line('rate, plain', 'events/s'), value: spread(theirs, 'rate') },
        { ...line(`p99 at ${PACE}/s, plain`, 'ms'), value: spread(theirs, 'p99') },
      ]
    }
    return bench.stores.flatMap((store) => MODES.flatMap((mode) => lines(mode, store)))
  },
}

async function startSlack(bench: Bench) {
  const slack = await startPeer('slack-load', CORE.load)
  bench.defer(slack.end)
  const { port } = await slack.call('api')
  return { slack, apiUrl: `http://127.0.0.1:${port}/api/` }
}

async function plain(bench: Bench, mode: Mode): Promise<Contender> {
  const { slack, apiUrl } = await startSlack(bench)
  const app = await startPeer('bolt-app', CORE.server)
  bench.defer(app.end)
  const { port } = await app.call('listen', { apiUrl, mode })
  await slack.call('connected', { port })
  return {
    name: `plain, ${mode}`,
    async measure(seconds) {
      const before = cpuMicros(app.pid)
      const { p99 = 0, total: atPace = 0 } = await slack.call('run', { port, seconds, rate: PACE })
      const cpu = (cpuMicros(app.pid) - before) / atPace
      return { ...(await slack.call('run', { port, seconds })), p99, cpu }
    },
  }
}

const countSchema = z.object({ count: z.number() })

async function trivium(bench: Bench, mode: Mode, store: Bench['stores'][number]): Promise<Contender> {
  const { slack, apiUrl } = await startSlack(bench)
  const dir = createProject(bench, { routes: '', skills: { bench: COUNT_SKILL } })
  const { token, appToken, signingSecret } = SLACK
  const secret = mode === 'http' ? `signingSecret: ${signingSecret}` : `appToken: ${appToken}`
  const team = `{ transport: slack, mode: ${mode}, botToken: ${token}, ${secret}, apiUrl: '${apiUrl}', fill-gaps: off }`
  writeRoutes(dir, ROUTES, `  team: ${team}\n`)
  await writeFile(join(dir, 'app.cjs'), APP)
  const daemon = await startDaemon(dir, await bench.redis(store, mode))
  bench.defer(daemon.stop)
  const port = mode === 'http' ? daemon.port : 0
  await slack.call('connected', { port })
  let expected = 0
  /** Resolves once the listeners ran for this many more events. */
  const waitForListeners = async (more: number) => {
    expected += more
    while (countSchema.parse(await daemon.invoke('bench')).count < expected) await pause(10)
  }
  return {
    name: `${store}, ${mode}`,
    async measure(seconds) {
      const before = cpuMicros(daemon.pid)
      const { total: atPace = 0, p99 = 0 } = await slack.call('run', { port, seconds, rate: PACE })
      await waitForListeners(atPace)
      const cpu = (cpuMicros(daemon.pid) - before) / atPace
      const start = performance.now()
      const figures = await slack.call('run', { port, seconds })
      const { total = 0 } = figures
      await waitForListeners(total)
      return { ...figures, p99, cpu, listenerRate: total / ((performance.now() - start) / 1000) }
    },
  }
}
