import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { saying } from '../../contract/store/kit.ts'
import { withDir, withStore } from './kit.ts'

const CHILD = fileURLToPath(new URL('./crash-child.ts', import.meta.url))
const LIVES = Number(process.env.TRIVIUM_CRASH_LIVES ?? 5)

type Line = {
  accepted?: string
  key?: string
  published?: string
  taken?: string
  pumped?: string
  settled?: string
}

/** Runs the child until it has said so many lines, kills it, and returns all that it had said. */
async function live(dir: string, life: number, lines: number): Promise<Line[]> {
  const child = spawn(process.execPath, [CHILD, dir, `${life}`], { stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  const said: Line[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.endsWith('}')) break
    said.push(JSON.parse(line))
    if (said.length === lines) child.kill('SIGKILL')
  }
  await closed
  assert.equal(child.signalCode, 'SIGKILL', 'it ran until it was killed')
  return said
}

test('whatever was acknowledged before a SIGKILL is there after it, and nothing is there twice', async () => {
  await withDir(async (dir) => {
    const said: Line[] = []
    for (let life = 0; life < LIVES; life++)
      said.push(...(await live(dir, life, 100 + Math.floor(Math.random() * 900))))
    const pick = (key: keyof Line) => said.flatMap((line) => line[key] ?? [])

    await withStore(dir, async (store) => {
      const accepted = pick('accepted')
      const taken = pick('taken')
      assert.ok(accepted.length > 0 && taken.length > 0)
      assert.equal(new Set(accepted).size, accepted.length)
      for (const id of accepted) assert.ok(await store.journal.get(id), `${id} is in the journal`)

      const again = await store.journal.accept(pick('key').map((key) => saying('again', { key })))
      assert.deepEqual(
        again,
        accepted.map((id) => ({ id, duplicate: true })),
        'its key is remembered',
      )

      assert.equal(new Set(taken).size, taken.length, 'nothing was taken twice')
      const left = new Set<string>()
      for (let next = await store.receive.take({}); next; next = await store.receive.take({})) {
        assert.ok(!left.has(next.message.id))
        left.add(next.message.id)
      }
      for (const id of taken) assert.ok(!left.has(id), 'what was taken does not come back')
      // A take whose answer died with the process is gone: one at most in each life.
      const lost = accepted.filter((id) => !left.has(id) && !taken.includes(id))
      assert.ok(lost.length <= LIVES, `${lost.length} messages on no side of receive`)

      const events = (await store.topics.tail('t', 0, 100_000)).map(({ event }) => event.id)
      assert.equal(new Set(events).size, events.length)
      for (const id of pick('published')) assert.ok(events.includes(id), `${id} was published`)
      const [batch] = await store.topics.read('t', [{ group: 'g', max: 100_000, mode: 'consume' }])
      assert.deepEqual(
        batch?.events.map(({ id }) => id),
        events,
      )

      const settled = new Set(pick('settled'))
      const { jobs } = await store.jobs.claim('dispatch', { max: 100_000, lease: 60_000, owner: 'after' })
      const waiting = new Set(jobs.map(({ id }) => id))
      for (const id of settled) assert.ok(!waiting.has(id), 'a finished job does not run again')
      const vanished = pick('pumped').filter((id) => !waiting.has(id) && !settled.has(id))
      assert.ok(vanished.length <= LIVES * 4, 'only outcomes that were not answered are unknown')
      assert.ok(
        (await store.journal.unpumped(100_000)).messages.every(({ message }) => !settled.has(message.id)),
      )
    })
  })
})
