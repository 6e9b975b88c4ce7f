import { type Bench, interleave, type Line, type Row } from '../lib/bench.ts'
import { CORE, type Figures, startPeer } from '../lib/peer.ts'
import { percentile, ratio, spread, spreadOf } from '../lib/statistics.ts'

/**
 * A backlog in a real Dovecot, drained by the email transport (every mail parsed, threaded and accepted in order)
 * beside a bare fetch of the same mails with imapflow; and the time from the server's notice in IDLE to accept.
 */
export const email: Row = {
  name: 'email',
  title: 'a backlog of 10,000 mails beside a bare imapflow fetch (quick: 2,000), IDLE to accept',
  async run(bench) {
    const count = bench.quick ? 2_000 : 10_000
    const server = await startPeer('mail-server', CORE.load)
    bench.defer(server.end)
    const reader = await startPeer('mail-reader', CORE.server, { node: [...DAEMON_FLAGS, ...profileFlags()] })
    bench.defer(reader.end)
    const { imap: port } = await server.call('ports')
    bench.progress(`filling the mailbox with ${count.toLocaleString('en')} mails`)
    await server.call('fill', { count })
    const rounds = await interleave(bench, [
      { name: 'fetch', measure: () => reader.call('fetch', { port, count }) },
      { name: 'drain', measure: () => reader.call('drain', { port, count }) },
    ])
    const latencies = await arrivals(bench, port, server.call, reader.call)
    return lines(count, rounds('fetch'), rounds('drain'), latencies)
  },
}

/** As `trivium start` runs a daemon on one core; see bin/trivium.js and src/cli/start.ts. */
const DAEMON_FLAGS = ['--max-semi-space-size=6', '--v8-pool-size=1', '--heap-growing-percent=50']

type Call = (name: string, params?: object) => Promise<Figures>

/** One mail after the other: Dovecot itself waits half a second before it tells of a new mail. */
async function arrivals(
  bench: Bench,
  port: number | undefined,
  server: Call,
  reader: Call,
): Promise<number[]> {
  const mails = bench.quick ? 20 : 100
  const latencies: number[] = []
  await reader('idle', { port })
  for (let number = 1; number <= mails; number++) {
    bench.progress(`IDLE: mail ${number}/${mails}`)
    const [, { latency = Number.NaN }] = await Promise.all([
      server('deliver'),
      reader('accepted', { number }),
    ])
    latencies.push(latency)
  }
  return latencies.sort((a, b) => a - b)
}

function lines(count: number, fetched: Figures[], drained: Figures[], latencies: number[]): Line[] {
  const line = { row: 'email', store: '' }
  const mails = `${count.toLocaleString('en')} mails`
  const at = (percent: number) => spreadOf([percentile(latencies, percent)])
  return [
    { ...line, figure: `${mails} drained`, unit: '/s', value: spread(drained, 'rate') },
    {
      ...line,
      figure: `${mails} / bare fetch`,
      unit: 'x',
      value: ratio(drained, fetched, 'rate'),
      reach: { least: 0.7 },
    },
    {
      ...line,
      figure: 'resident at most',
      unit: 'MB',
      value: spread(drained, 'resident'),
      reach: { most: 250 },
    },
    { ...line, figure: 'IDLE to accept, p50', unit: 'ms', value: at(50) },
    { ...line, figure: 'IDLE to accept, p99', unit: 'ms', value: at(99), reach: { most: 100 } },
  ]
}

/** `TRIVIUM_BENCH_PROFILE=dir` writes a processor profile of the reader there. */
function profileFlags(): string[] {
  const into = process.env.TRIVIUM_BENCH_PROFILE
  return into ? ['--cpu-prof', `--cpu-prof-dir=${into}`] : []
}
