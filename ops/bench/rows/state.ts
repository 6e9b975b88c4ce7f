import { type Bench, interleave, type Line, type Row } from '../lib/bench.ts'
import { CORE, type Figures, type Peer, residentMegabytes, startPeer } from '../lib/peer.ts'
import { ratio, spread, spreadOf } from '../lib/statistics.ts'

const EVENTS = 100_000
const PARTS = 10

/**
 * Durable documents of 2 KB, checked by their schema and with an event for each change, beside a bare write, fsync
 * and rename of the same bytes and beside `write-file-atomic`; then the replay of a long log, and memory over many
 * updates.
 */
export const state: Row = {
  name: 'state',
  title: 'document writes beside write+fsync+rename and write-file-atomic, replay, memory',
  async run(bench) {
    const peer = await startPeer('documents', CORE.server)
    bench.defer(peer.end)
    const rounds = await interleave(bench, [
      { name: 'documents', measure: (seconds) => peer.call('turns', { seconds }) },
    ])
    const writes = rounds('documents')
    return [
      ...beside(writes, 'sequential', 'one after the other'),
      ...beside(writes, 'atOnce', '64 at once'),
      ...(await replays(bench)),
      ...(await memory(bench, peer)),
    ]
  },
}

const LINE = { row: 'state', store: 'files' }

function beside(rounds: Figures[], name: string, what: string): Line[] {
  const against = (other: string) => {
    const others = rounds.map((figures) => ({ [name]: figures[other] ?? Number.NaN }))
    return ratio(rounds, others, name)
  }
  return [
    { ...LINE, figure: `updates, ${what}`, unit: '/s', value: spread(rounds, name) },
    { ...LINE, figure: `${what} / bare`, unit: 'x', value: against('bare'), reach: { least: 0.7 } },
    { ...LINE, figure: `${what} / write-file-atomic`, unit: 'x', value: against('atomic') },
  ]
}

/** Each in a process of its own, so that its memory is only that of the replay. */
async function replays(bench: Bench): Promise<Line[]> {
  const figures: Figures[] = []
  for (let round = 1; round <= bench.rounds; round++) {
    bench.progress(`replay ${round}/${bench.rounds}`)
    const peer = await startPeer('documents', CORE.server)
    try {
      figures.push(await peer.call('replay', { events: EVENTS }))
    } finally {
      await peer.end()
    }
  }
  if (figures.some(({ bad }) => bad)) throw new Error('a replay did not come to the last event')
  const what = `replay of ${EVENTS.toLocaleString('en')} events`
  return [
    { ...LINE, figure: what, unit: 's', value: spread(figures, 'took'), reach: { most: 2 } },
    { ...LINE, figure: `${what}, memory`, unit: 'MB', value: spread(figures, 'grown') },
  ]
}

/** The first tenths warm up: code is compiled, the heap finds its size. */
async function memory(bench: Bench, peer: Peer): Promise<Line[]> {
  const total = bench.quick ? 20_000 : 200_000
  const resident: number[] = []
  for (let part = 1; part <= PARTS; part++) {
    bench.progress(`memory: ${part}/${PARTS} of ${total.toLocaleString('en')} updates`)
    await peer.call('updates', { count: total / PARTS })
    resident.push(residentMegabytes(peer.pid))
  }
  const [last = 0, early = 0] = [resident.at(-1), resident[2]]
  const figure = `memory after ${total.toLocaleString('en')} updates / after three tenths`
  return [{ ...LINE, figure, unit: 'x', value: spreadOf([last / early]), reach: { most: 1.2 } }]
}
