import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { createFolder } from '../runtime/support/folder.ts'

const source = (path: string) => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href)

/** Indexes more lines than its files may hold, and then, with room again, fewer. Prints what became of each. */
const PROGRAM = `
import { createTranscriptIndex } from ${source('features/assistant/transcript-index.ts')}
const words = Array.from({ length: 2_000 }, (_, n) => 'word' + n * 7919).join(' ')
let count = 20_000
const logs = {
  hasMessages: () => true,
  async *newestMessages(seen) {
    for (let n = 0; n < count; n++)
      yield { time: new Date(n).toISOString(), role: 'user', channel: 'desk', content: words, meta: { from: 'ada', messageId: 'm' + n } }
    seen.offset += count
  },
}
const index = createTranscriptIndex({ dir: process.argv[1], logs })
const look = async () => {
  try {
    return (await index.find(['word7919'], {}, {})).length
  } catch (error) {
    return error.message
  }
}
console.log(await look())
count = 3
console.log(await look())
index.close()
`

test('a disk that is full while the transcript is indexed is reported as such, and the index works later', async (t) => {
  const dir = await createFolder(t)
  // No file may grow beyond 4 MB: the system refuses what is written after it, as on a full disk.
  const limited = 'ulimit -f 8192; exec "$0" "$@"'
  const args = ['-c', limited, process.execPath, '--input-type=module', '-e', PROGRAM, dir]
  const { stdout } = await promisify(execFile)('/bin/sh', args)
  const [first = '', second] = stdout.trim().split('\n')
  assert.match(first, /disk I\/O error|database or disk is full/)
  assert.equal(second, '3')
})
