import { openStore } from './kit.ts'

/**
 * The victim of crash.test.ts: accepts, publishes, takes and runs jobs as fast as it can, and writes a
 * line to stdout for everything that the store has acknowledged.
 */
const [dir = '', life = '0'] = process.argv.slice(2)
const store = await openStore(dir)
// Waits until the line is out: what a busy reader has not taken yet would die with this process.
const say = (line: object) =>
  new Promise((resolve) => process.stdout.write(`${JSON.stringify(line)}\n`, resolve))
await store.topics.subscribe('t', 'g', 'start')

for (let round = 0; ; round++) {
  const keys = Array.from({ length: 16 }, (_, n) => `${life}-${round}-${n}`)
  const accept = async (key: string) => {
    const message = { gateway: 'demo', transport: 'webhook', from: { id: 'x' }, text: key, data: {}, key }
    const [answer] = await store.journal.accept([message])
    await say({ accepted: answer?.id, key })
  }
  const publish = async (key: string) => {
    const [id] = await store.topics.publish('t', [{ type: 'x', source: 's', data: key }])
    await say({ published: id })
  }
  await Promise.all([...keys.map(accept), ...keys.slice(0, 4).map(publish)])
  const taken = await store.receive.take({})
  if (taken) await say({ taken: taken.message.id })
  const { cursor, messages } = await store.journal.unpumped(8)
  const jobs = messages.map(({ message }) => ({
    id: message.id,
    lane: message.id,
    group: 'g',
    messageId: message.id,
  }))
  if (await store.journal.pumped(cursor, messages.at(-1)?.position ?? cursor, jobs)) {
    for (const { id } of jobs) await say({ pumped: id })
  }
  const claimed = await store.jobs.claim('dispatch', { max: 4, lease: 60_000, owner: life })
  const outcomes = claimed.jobs.map(({ id, token }) => ({ id, token, outcome: 'done' as const }))
  const settled = await store.jobs.settle('dispatch', outcomes)
  for (const [index, done] of settled.entries()) if (done) await say({ settled: outcomes[index]?.id })
}
