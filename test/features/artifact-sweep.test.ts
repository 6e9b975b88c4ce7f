import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { utimesSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Attachment } from '../../src/core/message.ts'
import type { Store } from '../../src/core/store.ts'
import { DAY, MINUTE } from '../../src/core/units.ts'
import { createArtifactSweep } from '../../src/features/artifacts/artifact-sweep.ts'
import { createArtifacts } from '../../src/features/artifacts/artifacts.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { createRedisStore } from '../../src/stores/redis/index.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { silent, temporaryDir, toEvent } from './kit.ts'

const openEmbedded = (t: TestContext) => createEmbeddedStore({ dir: temporaryDir(t), toEvent, log: silent })

async function openRedis(t: TestContext) {
  const redis = await startRedisServer()
  t.after(redis.stop)
  return createRedisStore({ url: redis.url, toEvent, log: silent })
}

for (const [kind, open] of [
  ['embedded', openEmbedded],
  ['redis', openRedis],
] as const)
  test(`files of waiting replies and retried messages outlive the retention of messages (${kind})`, async (t) => {
    const store = await open(t)
    t.after(store.close)
    const { save, has, sweep } = filesOf(t, store)
    const [inMessage, inReply, nowhere] = [await save(), await save(), await save()]
    await addRetried(store, inMessage)
    const reply = { text: 'here', attachments: [inReply] }
    await store.jobs.add('outbox', [{ id: 'outbox:1', lane: 'b', group: 'shop', data: { reply } }])
    await sweep()
    assert.deepEqual(await has([inMessage, inReply, nowhere]), [true, true, false])
  })

/** Files that were saved before the retention of messages, and their sweep. */
function filesOf(t: TestContext, store: Store) {
  const dataDir = temporaryDir(t)
  const artifacts = createArtifacts(dataDir)
  const workbenchDir = join(dataDir, 'workbench')
  return {
    async save() {
      const saved = await artifacts.save('a.bin', 'application/octet-stream', randomBytes(9), 100)
      const old = new Date(Date.now() - 10 * DAY)
      utimesSync(join(dataDir, saved.path), old, old)
      return saved
    },
    has: (files: readonly Attachment[]) => Promise.all(files.map(({ sha256 }) => artifacts.has(sha256))),
    sweep: createArtifactSweep({ artifacts, store, dataDir, workbenchDir, log: silent, now: Date.now }),
  }
}

/** A dead letter that is retried when the journal no longer has its message. */
async function addRetried({ journal, jobs, trim }: Store, file: Attachment) {
  const fields = { gateway: 'shop', transport: 'webhook', from: { id: 'ada' }, text: 'hi', data: {} }
  const [accepted] = await journal.accept([{ ...fields, conversation: 'c', attachments: [file] }])
  const id = accepted?.id ?? assert.fail('not accepted')
  const { cursor } = await journal.unpumped(1)
  await journal.pumped(cursor, id, [{ id, lane: 'a', group: 'r', messageId: id }])
  const error = { at: Date.now(), code: 'x', message: 'x' }
  const { items } = await jobs.claim('dispatch', { max: 1, lease: MINUTE })
  const tokens = items.map(({ token }) => token)
  await jobs.settle(
    'dispatch',
    tokens.map((token) => ({ id, token, outcome: 'dead', reason: 'attempts', error })),
  )
  await trim({ journal: { maxAge: DAY, maxCount: 0 } })
  assert.equal(await journal.get(id), undefined)
  assert.ok(await jobs.deadLetters.retry(id))
}
