import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Bench, interleave, type Line, type Row, type StoreName } from '../lib/bench.ts'
import { createSite, removeSite, startDaemon } from '../lib/daemon.ts'
import { CORE, cpuMicros, type Figures, type Peer, startPeer } from '../lib/peer.ts'
import { ALL_TO_BENCH, BUSY_SKILL } from '../lib/skills.ts'
import { ratio, spread } from '../lib/statistics.ts'

const BARE = 'bare socket-mode client'
/** Slack waits for no acknowledgement before the next event; this is what a busy workspace has under way. */
const IN_FLIGHT = 256
const RATE = 500

/**
 * Events over one socket of Socket Mode, each acknowledged once it is durable, beside Slack's own client that only
 * acknowledges. A small Slack of our own is the load for both.
 */
export const slack: Row = {
  name: 'slack',
  title: 'Slack events accepted over one socket, against a bare @slack/socket-mode client that only acks',
  async run(bench) {
    const load = await startPeer('slack-load', CORE.load)
    bench.defer(load.end)
    const sides = [await bareClient(bench, load)]
    for (const store of bench.stores) sides.push(await trivium(bench, load, store))
    // Before the flood, which leaves more than dispatch can work off: at a steady rate nothing waits.
    const paced = await interleave(
      bench,
      sides.map(({ name, slack }) => ({
        name: `${name}, ${RATE} a second`,
        measure: (seconds) => load.call('paced', { slack, seconds: Math.max(2, seconds), rate: RATE }),
      })),
    )
    const flooded = await interleave(
      bench,
      sides.map(({ name, pid, slack }) => ({
        name,
        async measure(seconds) {
          const before = cpuMicros(pid)
          const figures = await load.call('flood', { slack, seconds, inFlight: IN_FLIGHT })
          return { ...figures, cpu: (cpuMicros(pid) - before) / (figures.done ?? 1) }
        },
      })),
    )
    const bare = flooded(BARE)
    const pacedBare = paced(`${BARE}, ${RATE} a second`)
    return bench.stores.flatMap((store) =>
      lines(store, flooded(store), bare, paced(`${store}, ${RATE} a second`), pacedBare),
    )
  },
}

/** Who is measured: its process, and the number of the Slack that it is connected to. */
type Side = { name: string; pid: number; slack: number }

async function bareClient(bench: Bench, load: Peer): Promise<Side> {
  const { slack = 0, port = 0 } = await load.call('open')
  const client = await startPeer('slack-client', CORE.server)
  bench.defer(client.end)
  await client.call('connect', { port })
  return { name: BARE, pid: client.pid, slack }
}

async function trivium(bench: Bench, load: Peer, store: StoreName): Promise<Side> {
  const { slack = 0, port = 0 } = await load.call('open')
  const redis = await bench.redis(store)
  const dir = createSite({ routes: '', skills: { bench: BUSY_SKILL } })
  bench.defer(() => removeSite(dir))
  writeFileSync(join(dir, 'routes.yaml'), gateway(port) + ALL_TO_BENCH)
  const daemon = await startDaemon(dir, redis)
  bench.defer(daemon.stop)
  await load.call('connected', { slack })
  return { name: store, pid: daemon.pid, slack }
}

function gateway(port: number): string {
  return `gateways:
  team:
    transport: slack
    mode: socket
    botToken: xoxb-test
    appToken: xapp-test
    apiUrl: http://127.0.0.1:${port}/api/
daemon: { grace: 200ms }
`
}

function lines(
  store: string,
  mine: Figures[],
  bare: Figures[],
  paced: Figures[],
  pacedBare: Figures[],
): Line[] {
  const line = { row: 'slack', store }
  const rate = ratio(mine, bare, 'rate')
  return [
    { ...line, figure: 'rate / bare client', unit: 'x', value: rate, reach: { least: 0.6 } },
    { ...line, figure: 'rate', unit: 'events/s', value: spread(mine, 'rate') },
    { ...line, figure: 'rate, bare', unit: 'events/s', value: spread(bare, 'rate') },
    { ...line, figure: 'processor time an event', unit: 'µs', value: spread(mine, 'cpu') },
    { ...line, figure: 'processor time an event, bare', unit: 'µs', value: spread(bare, 'cpu') },
    { ...line, figure: 'ack p50 at 500/s', unit: 'ms', value: spread(paced, 'p50') },
    { ...line, figure: 'ack p99 at 500/s', unit: 'ms', value: spread(paced, 'p99'), reach: { most: 50 } },
    { ...line, figure: 'ack p99 at 500/s, bare', unit: 'ms', value: spread(pacedBare, 'p99') },
  ]
}
