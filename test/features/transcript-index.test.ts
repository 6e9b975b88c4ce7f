import assert from 'node:assert/strict'
import { rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createTranscriptIndex } from '../../src/features/assistant/transcript-index.ts'
import { createLogs } from '../../src/features/transcript/logs.ts'
import { temporaryDir } from './kit.ts'

function make(t: TestContext) {
  const dir = temporaryDir(t)
  const logs = createLogs({ dir })
  const index = createTranscriptIndex({ dir, logs })
  t.after(async () => {
    index.close()
    await logs.close()
  })
  const log = join(dir, 'messages.jsonl')
  const say = (content: string) => logs.message({ channel: 'desk', role: 'user', content })
  const found = async (word: string) => (await index.find([word], {}, {})).length
  return { dir, log, say, found, index }
}

describe('the index of the transcript', () => {
  test('follows a log that was truncated, or that got the inode of a removed one', async (t) => {
    const { log, say, found } = make(t)
    await say('a long line about the first harvest')
    assert.equal(await found('harvest'), 1)
    // A new file with the inode of the removed one looks the same.
    truncateSync(log)
    await say('a second')
    assert.deepEqual([await found('harvest'), await found('second')], [0, 1])
    await say('a third')
    assert.deepEqual([await found('second'), await found('third')], [1, 1])
  })

  test('is made again if its file is damaged, also when the lines of a person are counted', async (t) => {
    const { dir, say, found, index } = make(t)
    await say('the first harvest')
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(dir, `search.db${suffix}`), { force: true })
    const damage = () => writeFileSync(join(dir, 'search.db'), 'no database '.repeat(1_000))
    damage()
    // Counts only indexed lines, and the new index has none yet.
    assert.equal(await index.count(() => true), 0)
    damage()
    assert.equal(await found('harvest'), 1)
  })
})
